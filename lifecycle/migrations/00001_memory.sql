-- +goose Up

-- Times are microseconds since 1970.

CREATE TABLE contents (
	id     INTEGER PRIMARY KEY,
	sha256 BLOB    NOT NULL UNIQUE, -- of the content as it was put
	bytes  INTEGER NOT NULL,        -- of the content as it was put
	coding TEXT    NOT NULL,        -- of body: plain or deflate
	body   BLOB    NOT NULL
);

-- A record is never changed, so that owners can share it.
CREATE TABLE records (
	id         INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of putting
	ref        TEXT    NOT NULL UNIQUE,           -- the opaque part
	digest     BLOB    NOT NULL UNIQUE,           -- what ref is the beginning of
	kind       TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	summary    BLOB    NOT NULL,
	importance REAL    NOT NULL,
	first      INTEGER NOT NULL, -- when the key of a memory got its first value
	created    INTEGER NOT NULL,
	ord        INTEGER NOT NULL, -- of a memory: the order of first values
	tokens     INTEGER NOT NULL, -- for full-text search
	text       BLOB    NOT NULL REFERENCES contents (sha256),
	data       BLOB    REFERENCES contents (sha256), -- null: none
	seal       BLOB    NOT NULL  -- SHA-256 of all columns from kind to ord, text and data
);
CREATE INDEX records_by_text ON records (text);
CREATE INDEX records_by_data ON records (data);
CREATE INDEX records_of_memories ON records (ord) WHERE kind = 'memory';

CREATE TABLE owned (
	owner  TEXT    NOT NULL,
	kind   TEXT    NOT NULL,
	key    TEXT    NOT NULL,
	record INTEGER NOT NULL REFERENCES records (id),
	PRIMARY KEY (owner, kind, key)
) WITHOUT ROWID;
CREATE INDEX owned_by_record ON owned (record, owner);

-- How often a token is in the name and text of a record.
CREATE TABLE postings (
	record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
	token  TEXT    NOT NULL,
	n      INTEGER NOT NULL,
	PRIMARY KEY (record, token)
) WITHOUT ROWID;

-- Values of memories that were replaced.
CREATE TABLE past_memories (
	id      INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of replacing
	owner   TEXT    NOT NULL,
	key     TEXT    NOT NULL, -- normalised
	ref     TEXT    NOT NULL,
	name    TEXT    NOT NULL, -- the key as it was written
	value   TEXT    NOT NULL,
	first   INTEGER NOT NULL,
	created INTEGER NOT NULL,
	ended   INTEGER NOT NULL
);
CREATE INDEX past_memories_by_key ON past_memories (owner, key, id);

-- +goose StatementBegin
CREATE TRIGGER owned_removed AFTER DELETE ON owned BEGIN
	DELETE FROM records WHERE id = old.record AND NOT EXISTS (SELECT 1 FROM owned WHERE record = old.record);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER owned_changed AFTER UPDATE OF record ON owned WHEN old.record <> new.record BEGIN
	DELETE FROM records WHERE id = old.record AND NOT EXISTS (SELECT 1 FROM owned WHERE record = old.record);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
	DELETE FROM contents WHERE sha256 IN (old.text, old.data)
		AND NOT EXISTS (SELECT 1 FROM records WHERE text = contents.sha256)
		AND NOT EXISTS (SELECT 1 FROM records WHERE data = contents.sha256);
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE past_memories;
DROP TABLE postings;
DROP TABLE owned;
DROP TABLE records;
DROP TABLE contents;
