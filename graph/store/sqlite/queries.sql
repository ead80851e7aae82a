-- Queries of the store. Parameters are numbered.

-- name: get
SELECT namespace, key, created, updated, expires, sliding, value FROM store_items
WHERE namespace = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3)

-- name: touch
UPDATE store_items SET expires = max(expires, ?3 + sliding)
WHERE namespace = ?1 AND key = ?2 AND sliding > 0 AND expires > ?3
RETURNING expires

-- name: put
INSERT INTO store_items (namespace, key, changed, created, updated, expires, sliding, value)
VALUES (?1, ?2, (SELECT coalesce(max(changed), 0) + 1 FROM store_items), ?3, ?3, ?4, ?5, ?6)
ON CONFLICT DO UPDATE SET
	changed = excluded.changed,
	created = CASE WHEN expires <= excluded.updated THEN excluded.created ELSE created END,
	updated = excluded.updated,
	expires = excluded.expires,
	sliding = excluded.sliding,
	value   = excluded.value
RETURNING id

-- name: put_text
INSERT OR REPLACE INTO store_text (rowid, scope, body) VALUES (?1, ?2, ?3)

-- name: drop_text
DELETE FROM store_text WHERE rowid = ?1

-- name: delete
DELETE FROM store_items WHERE namespace = ?1 AND key = ?2

-- name: delete_all
DELETE FROM store_items WHERE namespace >= ?1 AND namespace < ?2

-- name: sweep
DELETE FROM store_items WHERE id IN (
	SELECT id FROM store_items WHERE expires <= ?1 ORDER BY expires, namespace, key LIMIT ?2
)

-- name: by_key
SELECT id, 0.0 FROM store_items
WHERE namespace >= ?1 AND namespace < ?2 AND (expires IS NULL OR expires > ?3)
ORDER BY namespace, key LIMIT ?4 OFFSET ?5

-- name: newest
SELECT id, 0.0 FROM store_items
WHERE namespace >= ?1 AND namespace < ?2 AND (expires IS NULL OR expires > ?3)
ORDER BY changed DESC LIMIT ?4 OFFSET ?5

-- name: by_text
-- ?6 is an FTS5 expression. A scope says where an item is and nothing about its text, so it has no weight.
SELECT i.id, -bm25(store_text, 0.0, 1.0) AS score
FROM store_text CROSS JOIN store_items AS i ON i.id = store_text.rowid
WHERE store_text MATCH ?6 AND i.namespace >= ?1 AND i.namespace < ?2 AND (i.expires IS NULL OR i.expires > ?3)
ORDER BY score DESC, i.namespace, i.key LIMIT ?4 OFFSET ?5

-- name: by_ids
-- ?1 is a JSON array of ids.
SELECT i.id, i.namespace, i.key, i.created, i.updated, i.expires, i.sliding, i.value
FROM json_each(?1) AS wanted CROSS JOIN store_items AS i ON i.id = wanted.value

-- name: next_namespace
SELECT namespace FROM store_items
WHERE namespace >= ?1 AND namespace < ?2 AND (expires IS NULL OR expires > ?3)
ORDER BY namespace LIMIT 1
