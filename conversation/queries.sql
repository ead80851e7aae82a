-- Queries of the store. Parameters are numbered.

-- name: get
SELECT c.id, c.title, c.created, c.updated,
	(SELECT count(*) FROM turns AS t WHERE t.conversation = c.key),
	(SELECT t.status FROM turns AS t WHERE t.conversation = c.key ORDER BY t.number DESC LIMIT 1)
FROM conversations AS c WHERE c.id = ?1

-- name: last
SELECT c.id, c.title, c.created, c.updated,
	(SELECT count(*) FROM turns AS t WHERE t.conversation = c.key),
	(SELECT t.status FROM turns AS t WHERE t.conversation = c.key ORDER BY t.number DESC LIMIT 1)
FROM conversation_last AS l JOIN conversations AS c ON c.key = l.conversation

-- name: list
SELECT c.id, c.title, c.created, c.updated,
	(SELECT count(*) FROM turns AS t WHERE t.conversation = c.key),
	(SELECT t.status FROM turns AS t WHERE t.conversation = c.key ORDER BY t.number DESC LIMIT 1)
FROM conversations AS c ORDER BY c.changed DESC LIMIT ?1

-- name: key
SELECT key FROM conversations WHERE id = ?1

-- name: count
SELECT count(*) FROM turns WHERE conversation = ?1

-- name: create
INSERT INTO conversations (id, title, created, updated, changed, numbers)
VALUES (?1, '', ?2, ?2, (SELECT coalesce(max(changed), 0) + 1 FROM conversations), 0)

-- name: change
UPDATE conversations SET updated = ?2, changed = (SELECT max(changed) + 1 FROM conversations) WHERE key = ?1

-- name: set_title
UPDATE conversations SET title = ?2 WHERE key = ?1

-- name: next_number
UPDATE conversations SET numbers = numbers + 1 WHERE key = ?1 RETURNING numbers

-- name: remember
INSERT INTO conversation_last (id, conversation) VALUES (1, ?1) ON CONFLICT DO UPDATE SET conversation = excluded.conversation

-- name: delete
DELETE FROM conversations WHERE key = ?1

-- name: by_thread
SELECT t.key, c.key, c.id, t.number, t.thread, t.status, t.process, t.started, t.finished, t.error, t.goal, t.answer, t.transcript
FROM turns AS t JOIN conversations AS c ON c.key = t.conversation WHERE t.thread = ?1

-- name: running
SELECT t.key, c.key, c.id, t.number, t.thread, t.status, t.process, t.started, t.finished, t.error, t.goal, t.answer, t.transcript
FROM turns AS t JOIN conversations AS c ON c.key = t.conversation WHERE t.conversation = ?1 AND t.status = 'running'

-- name: oldest
SELECT t.key, c.key, c.id, t.number, t.thread, t.status, t.process, t.started, t.finished, t.error, t.goal, t.answer, t.transcript
FROM turns AS t JOIN conversations AS c ON c.key = t.conversation WHERE t.conversation = ?1 AND t.number > ?2
ORDER BY t.number LIMIT ?3

-- name: newest
SELECT t.key, c.key, c.id, t.number, t.thread, t.status, t.process, t.started, t.finished, t.error, t.goal, t.answer, t.transcript
FROM turns AS t JOIN conversations AS c ON c.key = t.conversation WHERE t.conversation = ?1 AND t.number > ?2
ORDER BY t.number DESC LIMIT ?3

-- name: first_goal
SELECT goal FROM turns WHERE conversation = ?1 ORDER BY number LIMIT 1

-- name: begin
INSERT INTO turns (conversation, number, thread, status, process, started, finished, error, goal, answer, transcript)
VALUES (?1, ?2, ?3, 'running', ?4, ?5, NULL, '', ?6, '', NULL)

-- name: reopen
UPDATE turns SET status = 'running', process = ?2, finished = NULL, error = '' WHERE key = ?1

-- name: finish
UPDATE turns SET status = ?2, process = '', finished = ?3, error = ?4, answer = ?5, transcript = ?6 WHERE key = ?1

-- name: interrupt
UPDATE turns SET status = 'interrupted', process = '', finished = ?2 WHERE key = ?1

-- name: drop
DELETE FROM turns WHERE key = ?1

-- name: free_pages
SELECT freelist_count FROM pragma_freelist_count
