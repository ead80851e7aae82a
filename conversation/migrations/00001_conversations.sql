-- +goose Up

-- Times are microseconds since 1970. Texts are valid UTF-8, and may hold zero bytes.

CREATE TABLE conversations (
	key     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL,
	title   TEXT    NOT NULL, -- made of the goal of the first turn that is there; empty without turns
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	changed INTEGER NOT NULL, -- higher than that of every conversation that was changed before
	numbers INTEGER NOT NULL  -- the highest number a turn ever had, so that none comes again when the turn is dropped
) STRICT;
CREATE UNIQUE INDEX conversations_by_id ON conversations (id);
CREATE UNIQUE INDEX conversations_by_change ON conversations (changed);

-- Long columns come last: who reads only the others does not read them.
CREATE TABLE turns (
	key          INTEGER PRIMARY KEY,
	conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
	number       INTEGER NOT NULL CHECK (number >= 1),
	thread       TEXT    NOT NULL,
	status       TEXT    NOT NULL CHECK (status IN ('running', 'done', 'failed', 'interrupted')),
	process      TEXT    NOT NULL,
	started      INTEGER NOT NULL,
	finished     INTEGER CHECK ((finished IS NULL) = (status = 'running')),
	error        TEXT    NOT NULL,
	goal         TEXT    NOT NULL,
	answer       TEXT    NOT NULL,
	transcript   BLOB             -- JSON, or NULL
) STRICT;
CREATE UNIQUE INDEX turns_by_number ON turns (conversation, number);
CREATE UNIQUE INDEX turns_by_thread ON turns (thread);
CREATE UNIQUE INDEX turns_running ON turns (conversation) WHERE status = 'running';

-- The conversation that was used last. Who deletes it is not sent to another one.
CREATE TABLE conversation_last (
	id           INTEGER PRIMARY KEY CHECK (id = 1),
	conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE
) STRICT;

-- +goose Down
DROP TABLE conversation_last;
DROP TABLE turns;
DROP TABLE conversations;
