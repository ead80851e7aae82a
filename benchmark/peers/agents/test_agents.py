"""Tests of what the peers in Python have in common. Run: python3 -m unittest (in this folder; the Go tests do so, too)."""
import json
import pathlib
import sqlite3
import tempfile
import unittest

import roles
import tools

LIMITS = roles.LIMITS


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name, "workspace")
        (self.root / "logs").mkdir(parents=True)
        (self.root / "notes.md").write_text("a key\nno\nthe key\n")
        (self.root / "logs" / "a.log").write_text(
            "t INFO  node=n1 fine\nt ERROR node=n2 code=FULL x\nt ERROR node=n2 code=FULL y\nt ERROR node=n1 code=SLOW z\nt FATAL lost 7 of 9\n")
        with sqlite3.connect(self.root / "s.db") as db:
            db.execute("CREATE TABLE t (a INTEGER, b TEXT)")
            db.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
        db.close()

    def call(self, name, **arguments):
        return tools.call(self.root, LIMITS, name, arguments)

    def test_results(self):
        self.assertEqual(self.call("list_files", pattern="**"), (True, "logs/a.log (125 bytes)\nnotes.md (17 bytes)\ns.db (8192 bytes)"))
        self.assertEqual(self.call("list_files", pattern="*.md"), (True, "notes.md (17 bytes)"))
        self.assertEqual(self.call("read_file", file_path="notes.md"), (True, "a key\nno\nthe key\n"))
        self.assertEqual(self.call("search_file", file_path="notes.md", query="key"), (True, "2 lines of notes.md have 'key'\n1: a key\n3: the key"))
        self.assertEqual(self.call("query_sqlite", db_path="s.db", query="SELECT a, b FROM t"), (True, "2 rows\na | b\n1 | x\n2 | None"))
        self.assertEqual(self.call("describe_sqlite_table", db_path="s.db"), (True, "CREATE TABLE t (a INTEGER, b TEXT)"))
        self.assertEqual(self.call("aggregate_log_errors", log_path="logs/a.log")[1].splitlines(), [
            "logs/a.log: 5 lines", "levels: ERROR 3, INFO 1, FATAL 1", "errors by code: FULL 2 lines, SLOW 1 lines",
            "errors by node: n2 2 lines, n1 1 lines", "errors by code and node: code=FULL node=n2: 2 lines, code=SLOW node=n1: 1 lines",
            "other errors: lost N of N: 1 lines",
        ])

    def test_calls_that_do_not_work(self):
        pathlib.Path(self.folder.name, "secret").write_text("x")
        for name, arguments, why in (
            ("read_file", {"file_path": "../secret"}, "no file of the workspace"),
            ("read_file", {"file_path": "none.md"}, "no file of the workspace"),
            ("read_file", {"file_path": "logs"}, "no text file"),
            ("read_file", {"path": "notes.md"}, "wrong arguments"),
            ("aggregate_log_errors", {"log_path": "notes.md"}, "no log"),
            ("query_sqlite", {"db_path": "s.db", "query": "DELETE FROM t"}, "SQLite: attempt to write"),
            ("query_sqlite", {"db_path": "s.db", "query": "SELECT c FROM t"}, "no such column"),
            ("format_disk", {}, "there is no tool"),
        ):
            ok, text = self.call(name, **arguments)
            self.assertFalse(ok, name)
            self.assertIn(why, text)

    def test_preview_keeps_what_fits_the_task(self):
        lines = [f"line {i} of nothing in particular" for i in range(600)]
        lines[300] = "the trailer was impounded under IM-1"
        text = "\n".join(lines)
        cut = tools.preview(text, "Under which number was the trailer impounded?", LIMITS)
        self.assertIn("IM-1", cut)
        self.assertLess(len(cut), 2 * LIMITS["preview_chars"])
        self.assertTrue(cut.startswith(lines[0]) and cut.endswith(lines[-1]))
        self.assertEqual(tools.preview("short", "task", LIMITS), "short")


class Work(unittest.TestCase):
    """The loop of a peer with replies from a script."""

    job = {
        "goal": "Where is the key?", "facts": "Workspace:\n- notes.md",
        "tools": [{"name": "read_file", "description": "Reads.", "parameters": roles.record(file_path={"type": "string"})}],
        "trunk": {
            "messages": [{"role": "system", "content": "Rules"}, {"role": "system", "content": "Workspace:\n- notes.md"}],
            "task": "Task: Where is the key?", "instruction": "Role: plan.", "schema": {"type": "object"},
        },
    }

    def run_script(self, layout, *replies):
        asked, script = [], iter(replies)

        def complete(messages, schema, limit):
            self.assertEqual(limit, LIMITS["reply_tokens"])
            asked.append((messages, schema))
            return roles.Reply(next(script), 10, 3, 2, 40.0)

        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "notes.md").write_text("in room 7 {task}")
            work = roles.Roles(layout, complete)
            work.start()
            state = {**roles.started({**self.job, "workspace": folder})}
            node = "planner"
            nodes = {"planner": work.plan, "executor": work.act, "reflector": work.review, "finalizer": work.answer}
            while node:
                state = {**state, **nodes[node](state)}
                node = {"planner": lambda _: "executor", "executor": work.after_act, "reflector": work.after_review}.get(node, lambda _: None)(state)
        self.assertEqual(list(script), [], "all replies were asked for")
        return asked, work.report(state)

    def test_trunk_only_grows(self):
        asked, report = self.run_script(
            "trunk", '{"steps":[{"file":"notes.md","tool":"read_file","do":"find the key"}]}', '{"file_path":"none.md"}', '{"file_path":"notes.md"}',
            '{"decision":"done","missing":[]}', "Room 7.")
        texts = ["\n".join(m["role"] + m["content"] for m in messages) for messages, _ in asked]
        shared = texts[0].removesuffix("Role: plan.").rstrip()
        for before, after in zip(texts, texts[1:]):
            self.assertTrue(after.startswith(shared))
            shared = after[: after.rindex("Role: ")].removesuffix("user").rstrip()
        self.assertIn("in room 7 {task}", texts[-1])
        self.assertEqual(asked[0][1], {"type": "object"})
        self.assertEqual([s and sorted(s["properties"]) for _, s in asked[1:]], [["file_path"], ["file_path"], ["decision", "missing"], None])
        self.assertEqual(report["tools"], ["read_file", "read_file"])
        self.assertEqual((report["answer"], report["evaluated_tokens"], report["tool_call_ms"]), ("Room 7.", 15, [40.0, 40.0]))
        self.assertEqual(report["first_step_evaluated"], 3)

    def test_idiomatic_roles_have_prompts_of_their_own(self):
        asked, report = self.run_script(
            "idiomatic", '{"steps":[{"do":"find","tool":"read_file"}]}', '{"tool":"read_file","arguments":{"file_path":"notes.md"}}',
            '{"tool":"done"}', '{"decision":"continue","missing":"the floor"}', '{"steps":[{"do":"again","tool":"read_file"}]}',
            '{"tool":"read_file","arguments":{"file_path":"notes.md"}}', '{"tool":"done"}', '{"decision":"done","missing":""}', "Room 7.")
        systems = [messages[0]["content"] for messages, _ in asked]
        self.assertEqual(len(set(systems)), 4)
        self.assertEqual([m["role"] for m in asked[2][0]], ["system", "user", "assistant", "user"])
        self.assertIn("the floor", asked[4][0][1]["content"])
        self.assertEqual(len(asked[1][1]["anyOf"]), 1, "a step cannot be done before its first call")
        self.assertEqual(len(asked[2][1]["anyOf"]), 2)
        self.assertIn("in room 7", asked[-1][0][1]["content"])
        self.assertEqual((report["model_calls"], report["tools"]), (9, ["read_file", "read_file"]))

    def test_warming_reads_each_prompt_and_does_nothing(self):
        for layout in roles.LAYOUTS:
            asked = []
            work = roles.Roles(layout, lambda messages, schema, limit: asked.append((messages[0]["content"], limit)))
            self.assertEqual(work.warm(roles.started({**self.job, "workspace": "/none"})), {})
            self.assertEqual([limit for _, limit in asked], [1] * 4)
            self.assertEqual(len({system for system, _ in asked}), 1 if layout == "trunk" else 4)

    def test_replies_that_were_cut(self):
        _, report = self.run_script(
            "trunk", '{"steps":[{"do', '{"decision":"conti', "I do not know.")
        self.assertEqual((report["answer"], report["tools"]), ("I do not know.", []))


if __name__ == "__main__":
    unittest.main()
