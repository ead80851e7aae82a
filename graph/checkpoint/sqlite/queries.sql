-- Queries of the saver. Parameters are numbered.

-- name: lease_token
SELECT token FROM leases WHERE thread = ?1

-- name: thread_key
SELECT key FROM threads WHERE id = ?1

-- name: put_thread
-- The root namespace alone decides on steps, status and next: ?8 is whether this is it.
INSERT INTO threads (id, created, updated, changed, steps, status, next, labels, bytes)
VALUES (?1, ?2, ?2, (SELECT coalesce(max(changed), 0) + 1 FROM threads), ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET
	updated = CASE WHEN ?8 THEN excluded.updated ELSE updated END,
	changed = excluded.changed,
	steps   = CASE WHEN ?8 THEN excluded.steps ELSE steps END,
	status  = CASE WHEN ?8 THEN excluded.status ELSE status END,
	next    = CASE WHEN ?8 THEN excluded.next ELSE next END,
	labels  = CASE WHEN ?6 = '{}' THEN labels ELSE json_patch(labels, ?6) END
RETURNING key

-- name: grow_thread
UPDATE threads SET bytes = bytes + ?2 WHERE key = ?1

-- name: touch_thread
UPDATE threads SET
	changed = (SELECT max(changed) + 1 FROM threads),
	status  = CASE WHEN ?2 = '' THEN status ELSE ?2 END,
	bytes   = bytes + ?3
WHERE key = ?1

-- name: put_shape
INSERT INTO shapes (id, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING

-- name: put_checkpoint
INSERT INTO checkpoints (thread, namespace, seq, id, parent_seq, step, source, time, bytes, record, payload, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)

-- name: put_value
INSERT INTO channel_values (thread, namespace, channel, seq, prev, data, blob, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: put_result
INSERT INTO task_results (thread, namespace, seq, task, record, payload, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO UPDATE SET record = excluded.record, payload = excluded.payload, sum = excluded.sum

-- name: find_blob
SELECT key FROM blobs WHERE thread = ?1 AND hash = ?2

-- name: put_blob
INSERT INTO blobs (thread, hash, data) VALUES (?1, ?2, ?3)

-- name: newest
SELECT seq, id, parent_seq, step, source, time, bytes, record, payload, sum FROM checkpoints
WHERE thread = ?1 AND namespace = ?2 ORDER BY seq DESC LIMIT 1

-- name: by_id
SELECT seq, id, parent_seq, step, source, time, bytes, record, payload, sum FROM checkpoints
WHERE thread = ?1 AND namespace = ?2 AND id = ?3

-- name: page
SELECT seq, id, parent_seq, step, source, time, bytes, record, payload, sum FROM checkpoints
WHERE thread = ?1 AND namespace = ?2 AND seq < ?3 ORDER BY seq DESC LIMIT ?4

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM checkpoints WHERE thread = ?1 AND namespace = ?2

-- name: values
-- ?3 is the checkpoint's channels as a JSON object, channel to seq. Values stored as deltas are followed to their beginning.
WITH RECURSIVE parts (channel, seq, prev, data, blob, sum) AS (
	SELECT v.channel, v.seq, v.prev, v.data, v.blob, v.sum
	FROM json_each(?3) AS c
	JOIN channel_values AS v ON v.thread = ?1 AND v.namespace = ?2 AND v.channel = c.key AND v.seq = c.value
	UNION ALL
	SELECT v.channel, v.seq, v.prev, v.data, v.blob, v.sum
	FROM parts AS p
	JOIN channel_values AS v ON v.thread = ?1 AND v.namespace = ?2 AND v.channel = p.channel AND v.seq = p.prev
	WHERE p.prev < p.seq -- a damaged row must not lead in a circle
)
SELECT channel, seq, prev, data, blob, sum FROM parts ORDER BY channel, seq

-- name: results
SELECT task, record, payload, sum FROM task_results
WHERE thread = ?1 AND namespace = ?2 AND seq = ?3 ORDER BY task

-- name: blob
SELECT hash, data FROM blobs WHERE thread = ?1 AND key = ?2

-- name: shape
SELECT text FROM shapes WHERE id = ?1

-- name: threads
-- ?1 is the labels that a thread must have, as a JSON object.
SELECT t.id, t.created, t.updated, t.steps, t.status, t.next, t.labels, t.bytes,
	coalesce(l.token, ''), coalesce(l.host, ''), coalesce(l.pid, 0), coalesce(l.start, ''), coalesce(l.expires, 0)
FROM threads AS t LEFT JOIN leases AS l ON l.thread = t.id
WHERE NOT EXISTS (
	SELECT 1 FROM json_each(?1) AS w
	WHERE NOT EXISTS (SELECT 1 FROM json_each(t.labels) AS has WHERE has.key = w.key AND has.value = w.value)
)
ORDER BY t.changed DESC LIMIT ?2

-- name: lease
SELECT token, owner, host, pid, start, acquired, expires FROM leases WHERE thread = ?1

-- name: put_lease
INSERT INTO leases (thread, token, owner, host, pid, start, acquired, expires)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO UPDATE SET token = excluded.token, owner = excluded.owner, host = excluded.host, pid = excluded.pid,
	start = excluded.start, acquired = excluded.acquired, expires = excluded.expires

-- name: renew_lease
UPDATE leases SET expires = ?3 WHERE thread = ?1 AND token = ?2

-- name: drop_lease
DELETE FROM leases WHERE thread = ?1 AND token = ?2

-- name: effect
SELECT seq, started, done, result, sum FROM effects WHERE thread = ?1 AND namespace = ?2 AND task = ?3 AND key = ?4

-- name: put_effect
INSERT INTO effects (thread, namespace, task, key, seq, started, done, result, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT DO UPDATE SET done = excluded.done, result = excluded.result, sum = excluded.sum

-- name: drop_effect
DELETE FROM effects WHERE thread = ?1 AND namespace = ?2 AND task = ?3 AND key = ?4 AND NOT done

-- name: namespaces
SELECT namespace, count(*) FROM checkpoints WHERE thread = ?1 GROUP BY namespace

-- name: oldest_kept
SELECT seq FROM checkpoints WHERE thread = ?1 AND namespace = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3

-- name: prune_checkpoints
DELETE FROM checkpoints WHERE thread = ?1 AND namespace = ?2 AND seq < ?3

-- name: prune_results
DELETE FROM task_results WHERE thread = ?1 AND namespace = ?2 AND seq < ?3

-- name: prune_effects
DELETE FROM effects WHERE thread = ?1 AND namespace = ?2 AND seq < ?3

-- name: prune_values
WITH RECURSIVE used (channel, seq) AS (
	SELECT c.key, c.value FROM checkpoints AS p, json_each(p.record, '$.channels') AS c
	WHERE p.thread = ?1 AND p.namespace = ?2
	UNION
	SELECT v.channel, v.prev FROM used AS u
	JOIN channel_values AS v ON v.thread = ?1 AND v.namespace = ?2 AND v.channel = u.channel AND v.seq = u.seq
	WHERE v.prev > 0
)
DELETE FROM channel_values
WHERE thread = ?1 AND namespace = ?2 AND (channel, seq) NOT IN (SELECT channel, seq FROM used)

-- name: prune_blobs
DELETE FROM blobs WHERE thread = ?1 AND key NOT IN (
	SELECT blob FROM channel_values WHERE thread = ?1 AND blob IS NOT NULL
	UNION SELECT b.value FROM task_results AS r, json_each(r.record, '$.blobs') AS b WHERE r.thread = ?1
	UNION SELECT b.value FROM checkpoints AS c, json_each(c.record, '$.blobs') AS b WHERE c.thread = ?1
)

-- name: thread_bytes
SELECT bytes FROM threads WHERE key = ?1

-- name: count_bytes
UPDATE threads SET bytes =
	(SELECT coalesce(sum(length(data)), 0) FROM channel_values WHERE thread = ?1) +
	(SELECT coalesce(sum(length(data)), 0) FROM blobs WHERE thread = ?1) +
	(SELECT coalesce(sum(coalesce(length(payload), 0) + length(record)), 0) FROM task_results WHERE thread = ?1) +
	(SELECT coalesce(sum(coalesce(length(payload), 0) + length(record)), 0) FROM checkpoints WHERE thread = ?1)
WHERE key = ?1
RETURNING bytes

-- name: drop_thread
DELETE FROM threads WHERE key = ?1

-- name: drop_effects
DELETE FROM effects WHERE thread = ?1

-- name: drop_leases
DELETE FROM leases WHERE thread = ?1
