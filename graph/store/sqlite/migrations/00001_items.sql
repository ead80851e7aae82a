-- +goose Up

-- Names begin with store_, so that the tables can be in a file with others. Times are microseconds since 1970.

CREATE TABLE store_items (
	id        INTEGER PRIMARY KEY,
	namespace BLOB    NOT NULL, -- its elements, each followed by a zero byte: sorts by elements, and a prefix is a range
	key       TEXT    NOT NULL,
	changed   INTEGER NOT NULL, -- higher than that of every item written before
	created   INTEGER NOT NULL,
	updated   INTEGER NOT NULL,
	expires   INTEGER,          -- null: never
	sliding   INTEGER NOT NULL, -- how long after a read it expires; 0: reads don't matter
	value     TEXT    NOT NULL  -- JSON object; last, so that the other columns are read without it
);
CREATE UNIQUE INDEX store_items_by_key ON store_items (namespace, key);
CREATE INDEX store_items_by_change ON store_items (changed);
CREATE INDEX store_items_by_expiry ON store_items (expires, namespace, key) WHERE expires IS NOT NULL;

-- Searchable text by the id of its item. Both columns are tokens made by this program: body those of package fulltext, scope
-- one for each namespace that the item is in or below. The tokenizer "ascii" leaves them as they are.
CREATE VIRTUAL TABLE store_text USING fts5 (scope, body, content = '', contentless_delete = 1, tokenize = 'ascii');

-- +goose StatementBegin
CREATE TRIGGER store_items_delete AFTER DELETE ON store_items BEGIN
	DELETE FROM store_text WHERE rowid = old.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER store_items_delete;
DROP TABLE store_text;
DROP TABLE store_items;
