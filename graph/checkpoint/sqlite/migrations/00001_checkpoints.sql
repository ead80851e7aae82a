-- +goose Up

-- Times are microseconds since 1970. Sums are CRC-32C of the row's content; see sum.go.

CREATE TABLE threads (
	key     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL UNIQUE,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	changed INTEGER NOT NULL, -- higher than that of every thread changed before
	steps   INTEGER NOT NULL,
	status  TEXT    NOT NULL,
	next    TEXT    NOT NULL, -- JSON list of nodes
	labels  TEXT    NOT NULL, -- JSON object
	bytes   INTEGER NOT NULL
);
CREATE UNIQUE INDEX threads_by_change ON threads (changed);

-- What is due and where values are, but no values. namespace is the path of a subgraph.
CREATE TABLE checkpoints (
	thread     INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
	namespace  TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	id         TEXT    NOT NULL,
	parent_seq INTEGER NOT NULL,
	step       INTEGER NOT NULL,
	source     TEXT    NOT NULL,
	time       INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	record     TEXT    NOT NULL, -- JSON; see record.go
	payload    BLOB,             -- private inputs of the tasks, as record describes
	sum        INTEGER NOT NULL,
	PRIMARY KEY (thread, namespace, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX checkpoints_by_id ON checkpoints (thread, id);

-- The value that a checkpoint wrote to a channel. With prev it continues that of checkpoint prev; 0 stands for nothing.
CREATE TABLE channel_values (
	thread    INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
	namespace TEXT    NOT NULL,
	channel   TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	prev      INTEGER,
	data      BLOB,    -- either the value itself
	blob      INTEGER, -- or where it is
	sum       INTEGER NOT NULL,
	PRIMARY KEY (thread, namespace, channel, seq)
) WITHOUT ROWID;

CREATE TABLE task_results (
	thread    INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
	namespace TEXT    NOT NULL,
	seq       INTEGER NOT NULL, -- of the checkpoint the task belongs to
	task      TEXT    NOT NULL,
	record    TEXT    NOT NULL, -- JSON; see record.go
	payload   BLOB,             -- written values, as record describes
	sum       INTEGER NOT NULL,
	PRIMARY KEY (thread, namespace, seq, task)
) WITHOUT ROWID;

-- Large values, each once a thread however often it is written.
CREATE TABLE blobs (
	key    INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
	hash   BLOB    NOT NULL, -- SHA-256 of data
	data   BLOB    NOT NULL
);
CREATE UNIQUE INDEX blobs_by_hash ON blobs (thread, hash);

CREATE TABLE shapes (
	id   TEXT NOT NULL PRIMARY KEY,
	text TEXT NOT NULL
) WITHOUT ROWID;

-- Effects and leases name their thread by its ID: they come before its first checkpoint.
CREATE TABLE effects (
	thread    TEXT    NOT NULL,
	namespace TEXT    NOT NULL,
	task      TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	started   INTEGER NOT NULL,
	done      INTEGER NOT NULL,
	result    BLOB,
	sum       INTEGER NOT NULL,
	PRIMARY KEY (thread, namespace, task, key)
) WITHOUT ROWID;

CREATE TABLE leases (
	thread   TEXT    NOT NULL PRIMARY KEY,
	token    TEXT    NOT NULL,
	owner    TEXT    NOT NULL,
	host     TEXT    NOT NULL,
	pid      INTEGER NOT NULL,
	start    TEXT    NOT NULL,
	acquired INTEGER NOT NULL,
	expires  INTEGER NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE leases;
DROP TABLE effects;
DROP TABLE shapes;
DROP TABLE blobs;
DROP TABLE task_results;
DROP TABLE channel_values;
DROP TABLE checkpoints;
DROP TABLE threads;
