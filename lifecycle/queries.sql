-- Queries of the store. Parameters are numbered. Lists of owners, kinds and ids are JSON arrays.

-- name: by_key
SELECT o.owner, r.id, r.ref, r.kind, r.key, r.name, r.summary, r.importance, r.first, r.created, r.ord, r.text, r.data, r.seal, t.bytes, d.bytes
FROM owned AS o JOIN records AS r ON r.id = o.record
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
WHERE o.owner = ?1 AND o.kind = ?2 AND o.key = ?3

-- name: by_ref
SELECT o.owner, r.id, r.ref, r.kind, r.key, r.name, r.summary, r.importance, r.first, r.created, r.ord, r.text, r.data, r.seal, t.bytes, d.bytes
FROM records AS r JOIN owned AS o ON o.record = r.id JOIN json_each(?1) AS w ON w.value = o.owner
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
WHERE r.ref = ?2
ORDER BY w.key LIMIT 1

-- name: by_id
-- ?1 is the owner for whom it was found.
SELECT ?1, r.id, r.ref, r.kind, r.key, r.name, r.summary, r.importance, r.first, r.created, r.ord, r.text, r.data, r.seal, t.bytes, d.bytes
FROM records AS r
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
WHERE r.id = ?2

-- name: oldest
SELECT o.owner, r.id, r.ref, r.kind, r.key, r.name, r.summary, r.importance, r.first, r.created, r.ord, r.text, r.data, r.seal, t.bytes, d.bytes
FROM owned AS o JOIN records AS r ON r.id = o.record
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
WHERE o.owner = ?1 AND o.kind IN (SELECT value FROM json_each(?2))
ORDER BY r.ord, r.id LIMIT ?3

-- name: newest
SELECT o.owner, r.id, r.ref, r.kind, r.key, r.name, r.summary, r.importance, r.first, r.created, r.ord, r.text, r.data, r.seal, t.bytes, d.bytes
FROM owned AS o JOIN records AS r ON r.id = o.record
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
WHERE o.owner = ?1 AND o.kind IN (SELECT value FROM json_each(?2))
ORDER BY r.ord DESC, r.id DESC LIMIT ?3

-- name: content
SELECT coding, body FROM contents WHERE sha256 = ?1

-- name: put_content
-- One that was damaged becomes whole.
INSERT INTO contents (sha256, bytes, coding, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes, coding = excluded.coding, body = excluded.body
WHERE bytes <> excluded.bytes OR coding <> excluded.coding OR body <> excluded.body

-- name: by_digest
SELECT id FROM records WHERE digest = ?1

-- name: ref_taken
SELECT EXISTS (SELECT 1 FROM records WHERE ref = ?1)

-- name: put_record
INSERT INTO records (ref, digest, kind, key, name, summary, importance, first, created, ord, tokens, text, data, seal)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- name: seal_record
UPDATE records SET kind = ?2, key = ?3, name = ?4, summary = ?5, importance = ?6, first = ?7, created = ?8, ord = ?9, text = ?10, data = ?11, seal = ?12
WHERE id = ?1

-- name: put_postings
-- ?2 is a JSON array of pairs of a token and how often it is there.
INSERT INTO postings (record, token, n) SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2)

-- name: link
INSERT INTO owned (owner, kind, key, record) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (owner, kind, key) DO UPDATE SET record = excluded.record

-- name: unlink
DELETE FROM owned WHERE owner = ?1 AND kind = ?2 AND key = ?3

-- name: unlink_owner
DELETE FROM owned WHERE owner = ?1

-- name: copy_owner
INSERT INTO owned (owner, kind, key, record) SELECT ?2, kind, key, record FROM owned WHERE owner = ?1
ON CONFLICT DO NOTHING

-- name: copy_past
-- Before the memories themselves: those whose key the new owner has are not copied.
INSERT INTO past_memories (owner, key, ref, name, value, first, created, ended)
SELECT ?2, p.key, p.ref, p.name, p.value, p.first, p.created, p.ended FROM past_memories AS p
WHERE p.owner = ?1 AND NOT EXISTS (SELECT 1 FROM owned AS o WHERE o.owner = ?2 AND o.kind = 'memory' AND o.key = p.key)
ORDER BY p.id

-- name: owners
SELECT o.owner, count(*), sum(o.kind = 'memory'), sum(coalesce(t.bytes, 0) + coalesce(d.bytes, 0)), max(r.created)
FROM owned AS o JOIN records AS r ON r.id = o.record
LEFT JOIN contents AS t ON t.sha256 = r.text LEFT JOIN contents AS d ON d.sha256 = r.data
GROUP BY o.owner ORDER BY max(r.created) DESC, o.owner

-- name: candidates
SELECT o.owner, r.id, r.ref, o.kind, o.key, r.ord, r.tokens
FROM json_each(?1) AS w CROSS JOIN owned AS o ON o.owner = w.value JOIN records AS r ON r.id = o.record
WHERE o.kind IN (SELECT value FROM json_each(?2))
ORDER BY w.key, r.id

-- name: hits
-- ?2 is a JSON array of pairs of a token and the last of those to look for that follow it.
SELECT c.value, q.key, coalesce(sum(p.n) FILTER (WHERE p.token = q.value ->> 0), 0), sum(p.n)
FROM json_each(?1) AS c CROSS JOIN json_each(?2) AS q
CROSS JOIN postings AS p ON p.record = c.value AND p.token BETWEEN q.value ->> 0 AND q.value ->> 1
GROUP BY c.value, q.key

-- name: next_memory
SELECT coalesce(max(ord), 0) + 1 FROM records WHERE kind = 'memory'

-- name: end_memory
INSERT INTO past_memories (owner, key, ref, name, value, first, created, ended) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: past
SELECT ref, name, value, first, created, ended FROM past_memories WHERE owner = ?1 AND key = ?2 ORDER BY id

-- name: forget_past
DELETE FROM past_memories WHERE owner = ?1 AND key = ?2

-- name: forget_owner
DELETE FROM past_memories WHERE owner = ?1

-- name: link_of
SELECT kind, key FROM owned WHERE owner = ?1 AND record = ?2
