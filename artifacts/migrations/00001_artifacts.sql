-- +goose Up

-- Times are microseconds since 1970.

-- What is in the files of the content folder. A row is there only while its file is: files are put in place in the transaction
-- that adds the row, and removed in one that finds no row.
CREATE TABLE contents (
	sha256   BLOB    PRIMARY KEY,
	bytes    INTEGER NOT NULL,
	lines    INTEGER NOT NULL,
	encoding TEXT    NOT NULL
) WITHOUT ROWID;

CREATE TABLE artifacts (
	key       INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that it can be remembered without a lock
	owner     TEXT    NOT NULL,
	id        TEXT    NOT NULL, -- the beginning of source in letters and digits, as long as it has to be to tell it from others
	source    BLOB    NOT NULL, -- SHA-256 of everything that makes this artifact, but its owner
	sha256    BLOB    NOT NULL REFERENCES contents (sha256),
	tool      TEXT    NOT NULL,
	arguments BLOB    NOT NULL, -- SHA-256, or empty
	type      TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	facts     TEXT    NOT NULL, -- JSON array of [name, value]
	created   INTEGER NOT NULL,
	used      INTEGER NOT NULL,
	turn      INTEGER NOT NULL  -- higher than that of every artifact used before
);
CREATE UNIQUE INDEX artifacts_by_reference ON artifacts (owner, id);
CREATE UNIQUE INDEX artifacts_by_turn ON artifacts (turn);
CREATE INDEX artifacts_by_content ON artifacts (sha256);

-- The sum of contents, so that it need not be added up for every artifact that is put.
CREATE TABLE totals (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	bytes INTEGER NOT NULL
);
INSERT INTO totals (id, bytes) VALUES (1, 0);

-- +goose StatementBegin
CREATE TRIGGER contents_added AFTER INSERT ON contents BEGIN
	UPDATE totals SET bytes = bytes + new.bytes;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER contents_removed AFTER DELETE ON contents BEGIN
	UPDATE totals SET bytes = bytes - old.bytes;
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE totals;
DROP TABLE artifacts;
DROP TABLE contents;
