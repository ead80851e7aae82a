-- Queries of the store. Parameters are numbered.

-- name: get
SELECT a.key, a.turn, (SELECT max(turn) FROM artifacts), a.owner, a.id, a.tool, a.arguments, a.type, a.name, a.facts, a.created, a.used,
	c.sha256, c.bytes, c.lines, c.encoding
FROM artifacts AS a JOIN contents AS c ON c.sha256 = a.sha256
WHERE a.owner = ?1 AND a.id = ?2

-- name: list
SELECT a.key, a.turn, 0, a.owner, a.id, a.tool, a.arguments, a.type, a.name, a.facts, a.created, a.used,
	c.sha256, c.bytes, c.lines, c.encoding
FROM artifacts AS a JOIN contents AS c ON c.sha256 = a.sha256
WHERE a.owner = ?1 ORDER BY a.turn DESC LIMIT ?2

-- name: everything
SELECT a.key, a.turn, 0, a.owner, a.id, a.tool, a.arguments, a.type, a.name, a.facts, a.created, a.used,
	c.sha256, c.bytes, c.lines, c.encoding
FROM artifacts AS a JOIN contents AS c ON c.sha256 = a.sha256
ORDER BY a.turn

-- name: owners
SELECT a.owner, count(*), sum(c.bytes), max(a.used)
FROM artifacts AS a JOIN contents AS c ON c.sha256 = a.sha256
GROUP BY a.owner ORDER BY max(a.turn) DESC

-- name: total
SELECT bytes FROM totals

-- name: counts
SELECT (SELECT count(*) FROM artifacts), (SELECT count(*) FROM contents), (SELECT bytes FROM totals)

-- name: content
SELECT bytes FROM contents WHERE sha256 = ?1

-- name: contents
SELECT sha256 FROM contents

-- name: source_of
SELECT source FROM artifacts WHERE owner = ?1 AND id = ?2

-- name: put_content
INSERT INTO contents (sha256, bytes, lines, encoding) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING

-- name: put
INSERT INTO artifacts (owner, id, source, sha256, tool, arguments, type, name, facts, created, used, turn)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, (SELECT coalesce(max(turn), 0) + 1 FROM artifacts))
ON CONFLICT (owner, id) DO UPDATE SET used = max(used, excluded.used), turn = excluded.turn

-- name: touch
UPDATE artifacts SET used = max(used, ?2), turn = (SELECT max(turn) + 1 FROM artifacts) WHERE key = ?1

-- name: copy_owner
-- What the new owner has already stays as it is.
INSERT INTO artifacts (owner, id, source, sha256, tool, arguments, type, name, facts, created, used, turn)
SELECT ?2, id, source, sha256, tool, arguments, type, name, facts, created, ?3,
	(SELECT coalesce(max(turn), 0) FROM artifacts) + row_number() OVER (ORDER BY turn)
FROM artifacts WHERE owner = ?1
ON CONFLICT (owner, id) DO NOTHING

-- name: uses
-- How many artifacts have a content, and the last turn of any.
SELECT count(*), coalesce(max(turn), 0) FROM artifacts WHERE sha256 = ?1

-- name: drop_unused
-- An artifact that was used since it was looked at has another turn.
DELETE FROM artifacts WHERE key = ?1 AND turn = ?2

-- name: drop
DELETE FROM artifacts WHERE owner = ?1 AND id = ?2 RETURNING sha256

-- name: drop_owner
DELETE FROM artifacts WHERE owner = ?1 RETURNING sha256

-- name: drop_content
DELETE FROM contents WHERE sha256 = ?1 AND NOT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = ?1) RETURNING bytes
