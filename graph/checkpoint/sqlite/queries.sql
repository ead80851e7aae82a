-- Queries of the saver. Parameters are numbered.

-- name: thread
-- The root space of a thread, who has its lease, and the last change of any thread.
SELECT s.key, s.root, s.thread, s.namespace, s.changed, s.labels, s.record, coalesce(l.token, ''),
	(SELECT max(changed) FROM spaces WHERE namespace = '')
FROM spaces AS s LEFT JOIN leases AS l ON l.thread = ?1
WHERE s.thread = ?1 AND s.namespace = ''

-- name: space
SELECT key, root, thread, namespace, changed, labels, record FROM spaces WHERE thread = ?1 AND namespace = ?2

-- name: space_by_hash
SELECT key, root, thread, namespace, changed, labels, record FROM spaces WHERE hash = ?1

-- name: spaces_of
SELECT key, root, thread, namespace, changed, labels, record FROM spaces WHERE thread = ?1 OR key = ?2 ORDER BY key

-- name: bytes_of
-- ?2 is the key of the root space of thread ?1.
SELECT coalesce((SELECT sum(length(data)) FROM blobs WHERE root = ?2), 0)
	+ coalesce((SELECT sum(length(b.record)) FROM spaces AS s JOIN boundaries AS b ON b.key BETWEEN s.key << 32 AND s.key << 32 | 4294967295
		WHERE s.thread = ?1), 0)
	+ coalesce((SELECT sum(length(r.record)) FROM spaces AS s JOIN results AS r ON r.space = s.key WHERE s.thread = ?1), 0)

-- name: next_space
SELECT coalesce(max(key), 0) + 1 FROM spaces

-- name: last_change
SELECT coalesce(max(changed), 0) FROM spaces WHERE namespace = ''

-- name: add_space
INSERT INTO spaces (key, root, thread, namespace, hash, changed, labels, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: set_space
UPDATE spaces SET record = ?2 WHERE key = ?1

-- name: set_space_order
UPDATE spaces SET record = ?2, changed = ?3, labels = ?4 WHERE key = ?1

-- name: mend_space
UPDATE spaces SET key = ?2, root = ?3, thread = ?4, namespace = ?5, hash = ?6, changed = ?7, labels = ?8, record = ?9 WHERE key = ?1

-- name: threads
-- ?1 is the labels that a thread must have, as a JSON object.
SELECT s.key, s.root, s.thread, s.namespace, s.changed, s.labels, s.record, coalesce(l.token, ''), l.record
FROM spaces AS s LEFT JOIN leases AS l ON l.thread = s.thread
WHERE s.namespace = '' AND s.changed < ?2 AND (?1 = '{}' OR json_valid(s.labels) AND NOT EXISTS (
	SELECT 1 FROM json_each(?1) AS w
	WHERE NOT EXISTS (SELECT 1 FROM json_each(s.labels) AS has WHERE has.key = w.key AND has.value = w.value)
))
ORDER BY s.changed DESC LIMIT ?3

-- name: put_shape
INSERT INTO shapes (id, text, sum) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- name: shape
SELECT text, sum FROM shapes WHERE id = ?1

-- name: add_boundary
INSERT INTO boundaries (key, root, id, record) VALUES (?1, ?2, ?3, ?4)

-- name: set_boundary
UPDATE boundaries SET id = ?2, record = ?3 WHERE key = ?1

-- name: boundary
SELECT key, root, id, record FROM boundaries WHERE key = ?1

-- name: boundary_by_id
SELECT key, root, id, record FROM boundaries WHERE root = ?1 AND id = ?2

-- name: boundaries_down
SELECT key, root, id, record FROM boundaries WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC

-- name: chunk
SELECT key, root, id, record FROM boundaries WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3

-- name: page
SELECT key, root, id, record FROM boundaries WHERE key BETWEEN ?1 AND ?2 AND id IS NOT NULL ORDER BY key DESC LIMIT ?3

-- name: oldest_kept
SELECT key FROM boundaries WHERE key BETWEEN ?1 AND ?2 AND id IS NOT NULL ORDER BY key DESC LIMIT 1 OFFSET ?3

-- name: drop_boundary
DELETE FROM boundaries WHERE key = ?1

-- name: drop_boundaries
DELETE FROM boundaries WHERE key BETWEEN ?1 AND ?2

-- name: count_boundaries
SELECT count(*) FROM boundaries WHERE key BETWEEN ?1 AND ?2 AND id IS NOT NULL

-- name: result
SELECT record FROM results WHERE space = ?1 AND seq = ?2 AND task = ?3

-- name: put_result
INSERT INTO results (space, seq, task, record) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET record = excluded.record

-- name: results
SELECT task, record FROM results WHERE space = ?1 AND seq = ?2 ORDER BY task

-- name: results_of
SELECT seq, task, record FROM results WHERE space = ?1 ORDER BY seq, task

-- name: drop_results
DELETE FROM results WHERE space = ?1 AND seq < ?2

-- name: has_blob
SELECT 1 FROM blobs WHERE root = ?1 AND hash = ?2

-- name: put_blob
INSERT INTO blobs (root, hash, data) VALUES (?1, ?2, ?3)

-- name: blob
SELECT data FROM blobs WHERE root = ?1 AND hash = ?2

-- name: blobs_of
SELECT key, hash FROM blobs WHERE root = ?1

-- name: copy_blobs
INSERT INTO blobs (root, hash, data) SELECT ?2, hash, data FROM blobs WHERE root = ?1

-- name: drop_blob
DELETE FROM blobs WHERE key = ?1

-- name: drop_blobs
DELETE FROM blobs WHERE root = ?1

-- name: drop_space
DELETE FROM spaces WHERE key = ?1

-- name: lease
SELECT token, record FROM leases WHERE thread = ?1

-- name: put_lease
INSERT INTO leases (thread, token, record) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET token = excluded.token, record = excluded.record

-- name: drop_lease
DELETE FROM leases WHERE thread = ?1 AND token = ?2

-- name: drop_leases
DELETE FROM leases WHERE thread = ?1

-- name: effect
SELECT key, thread, namespace, seq, record FROM effects WHERE key = ?1

-- name: effects_at
SELECT key, thread, namespace, seq, record FROM effects WHERE thread = ?1 AND seq = ?2

-- name: effects_of
SELECT key, thread, namespace, seq, record FROM effects WHERE thread = ?1

-- name: count_effects
SELECT count(*) FROM effects WHERE thread = ?1

-- name: put_effect
INSERT INTO effects (key, thread, namespace, seq, record) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET record = excluded.record

-- name: drop_effect
DELETE FROM effects WHERE key = ?1

-- name: prune_effects
DELETE FROM effects WHERE thread = ?1 AND namespace = ?2 AND seq < ?3

-- name: drop_effects
DELETE FROM effects WHERE thread = ?1
