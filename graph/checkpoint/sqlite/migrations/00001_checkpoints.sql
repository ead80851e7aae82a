-- +goose Up

-- Records are described in record.go and end with a checksum; see seal.go.

-- A row a namespace of a thread, with what is newest in it. That of the root namespace, '', stands for the thread: it is there
-- when any other is.
CREATE TABLE spaces (
	key       INTEGER PRIMARY KEY,
	root      INTEGER NOT NULL,
	thread    TEXT    NOT NULL,
	namespace TEXT    NOT NULL,
	hash      INTEGER NOT NULL,
	changed   INTEGER NOT NULL,
	labels    TEXT    NOT NULL,
	record    BLOB    NOT NULL
);
CREATE UNIQUE INDEX spaces_by_name ON spaces (thread, namespace);
-- Another way to a row, so that a damaged name can't hide it.
CREATE INDEX spaces_by_hash ON spaces (hash);
CREATE INDEX spaces_by_change ON spaces (changed) WHERE namespace = '';

-- What a boundary stored, in one row: the checkpoint, new values, results of the tasks before it. The key is that of the
-- space times 2^32 plus the checkpoint's seq. Without an ID only values are left, which newer checkpoints use.
CREATE TABLE boundaries (
	key    INTEGER PRIMARY KEY,
	root   INTEGER NOT NULL,
	id     BLOB,
	record BLOB NOT NULL
);
CREATE UNIQUE INDEX boundaries_by_id ON boundaries (root, id);

-- Results that were stored before the boundary they led to.
CREATE TABLE results (
	space  INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	task   TEXT    NOT NULL,
	record BLOB    NOT NULL,
	PRIMARY KEY (space, seq, task)
) WITHOUT ROWID;

-- Large values, each once a thread however often it is written. hash is the SHA-256 of data.
CREATE TABLE blobs (
	key  INTEGER PRIMARY KEY,
	root INTEGER NOT NULL,
	hash BLOB    NOT NULL,
	data BLOB    NOT NULL
);
CREATE UNIQUE INDEX blobs_by_hash ON blobs (root, hash);

-- The key is a hash of thread, namespace, task and the effect's own key. Effects and leases name their thread by its ID: they
-- come before its first checkpoint.
CREATE TABLE effects (
	key       INTEGER PRIMARY KEY,
	thread    TEXT    NOT NULL,
	namespace TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	record    BLOB    NOT NULL
);
CREATE INDEX effects_by_seq ON effects (thread, seq);

CREATE TABLE leases (
	thread TEXT NOT NULL PRIMARY KEY,
	token  TEXT NOT NULL,
	record BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE shapes (
	id   TEXT    NOT NULL PRIMARY KEY,
	text TEXT    NOT NULL,
	sum  INTEGER NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE shapes;
DROP TABLE leases;
DROP TABLE effects;
DROP TABLE blobs;
DROP TABLE results;
DROP TABLE boundaries;
DROP TABLE spaces;
