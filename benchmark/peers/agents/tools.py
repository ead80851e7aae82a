"""The tools of the peers in Python: llama-agent's names and arguments, on the files of one workspace, with text for a model.

Each takes the workspace and its arguments. A ToolError is for the model, too: it says what was wrong with the call.
"""
import collections
import pathlib
import re
import sqlite3


class ToolError(Exception):
    """What was wrong with a call."""


def inside(workspace, name):
    root = pathlib.Path(workspace).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.exists():
        raise ToolError(f"{name!r} is no file of the workspace")
    return path


def text_of(workspace, name):
    try:
        return inside(workspace, name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, IsADirectoryError):
        raise ToolError(f"{name!r} is no text file") from None


def list_files(workspace, limits, pattern="**"):
    root = pathlib.Path(workspace).resolve()
    pattern = pattern + "/*" if pattern.endswith("**") else pattern
    try:
        found = sorted(p for p in root.glob(pattern) if p.is_file())
    except (ValueError, NotImplementedError):
        raise ToolError(f"{pattern!r} is no pattern of files in the workspace") from None
    return "\n".join(f"{p.relative_to(root)} ({p.stat().st_size} bytes)" for p in found) or "no files"


def read_file(workspace, limits, file_path):
    return text_of(workspace, file_path)


def search_file(workspace, limits, file_path, query):
    lines = [(n, line) for n, line in enumerate(text_of(workspace, file_path).splitlines(), 1) if query in line]
    shown = [f"{n}: {line}" for n, line in lines[: limits["matches"]]]
    return "\n".join([f"{len(lines)} lines of {file_path} have {query!r}", *shown])


def aggregate_log_errors(workspace, limits, log_path):
    lines = text_of(workspace, log_path).splitlines()
    levels = collections.Counter()
    fields = {"code": collections.Counter(), "node": collections.Counter()}
    where, messages = collections.Counter(), collections.Counter()
    for line in lines:
        found = re.search(r"\b(FATAL|ERROR|WARN|INFO|DEBUG)\b", line)
        if not found:
            continue
        levels[found[1]] += 1
        if found[1] not in ("FATAL", "ERROR"):
            continue
        here = {key: m[1] for key in fields if (m := re.search(rf"\b{key}=(\S+)", line))}
        for key, value in here.items():
            fields[key][value] += 1
        if len(here) == len(fields):
            where[f"code={here['code']} node={here['node']}"] += 1
        else:
            messages[re.sub(r"\d+", "N", line[found.end():]).strip()] += 1
    if not levels:
        raise ToolError(f"no line of {log_path!r} has a level; it is no log")
    out = [f"{log_path}: {len(lines)} lines", "levels: " + ", ".join(f"{k} {n}" for k, n in levels.most_common())]
    for key, values in fields.items():
        if values:
            out.append(f"errors by {key}: " + ", ".join(f"{v} {n} lines" for v, n in values.most_common(10)))
    for title, values in (("errors by code and node", where), ("other errors", messages)):
        if values:
            out.append(title + ": " + ", ".join(f"{v}: {n} lines" for v, n in values.most_common(10)))
    return "\n".join(out)


def describe_sqlite_table(workspace, limits, db_path):
    with reading(workspace, db_path) as db:
        return "\n".join(sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"))


def query_sqlite(workspace, limits, db_path, query):
    with reading(workspace, db_path) as db:
        found = db.execute(query)
        rows = found.fetchall()
        out = [f"{len(rows)} rows", " | ".join(column[0] for column in found.description or ())]
        out += [" | ".join(map(str, row)) for row in rows[: limits["rows"]]]
        return "\n".join(out)


class reading:
    """A database that is only read. What SQLite refuses is told to the model."""

    def __init__(self, workspace, name):
        self.path = inside(workspace, name)

    def __enter__(self):
        self.db = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)
        return self.db

    def __exit__(self, kind, error, _):
        self.db.close()
        if isinstance(error, (sqlite3.Error, sqlite3.Warning)):
            raise ToolError(f"SQLite: {error}") from None


TOOLS = {f.__name__: f for f in (list_files, read_file, search_file, aggregate_log_errors, describe_sqlite_table, query_sqlite)}


def call(workspace, limits, name, arguments):
    """Returns whether the call worked, and its text."""
    try:
        if name not in TOOLS:
            raise ToolError(f"there is no tool {name!r}")
        return True, TOOLS[name](workspace, limits, **arguments)
    except TypeError:
        return False, f"{name}: wrong arguments"
    except (ToolError, OSError) as error:
        return False, str(error)


def preview(text, task, limits):
    """Cuts a large result as llama-agent does: its beginning, its end, and the lines between that share most words with the task."""
    if len(text.encode()) <= limits["inline_bytes"]:
        return text
    half = limits["preview_chars"] // 2
    words = {w for w in re.findall(r"\w+", task.lower()) if len(w) > 3}
    middle = text[half:-half].splitlines()
    best = sorted(range(len(middle)), key=lambda i: -len(words & set(re.findall(r"\w+", middle[i].lower()))))
    chosen, room = [], half
    for i in best:
        if room < len(middle[i]):
            break
        chosen, room = [*chosen, i], room - len(middle[i])
    near = "\n".join(middle[i] for i in sorted(chosen))
    return f"{text[:half]}\n[... parts that fit the task:]\n{near}\n[...]\n{text[-half:]}"
