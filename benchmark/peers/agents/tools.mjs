// The tools of the peer in JavaScript: what tools.py is for those in Python, with the same names, arguments and texts.
import fs from "node:fs";
import path from "node:path";
import initSqlJs from "sql.js";

const sqlite = await initSqlJs();

class ToolError extends Error {}

function inside(workspace, name) {
  const root = fs.realpathSync(workspace);
  const file = path.resolve(root, name);
  if ((file !== root && !file.startsWith(root + path.sep)) || !fs.existsSync(file)) {
    throw new ToolError(`'${name}' is no file of the workspace`);
  }
  return file;
}

function textOf(workspace, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fs.readFileSync(inside(workspace, name)));
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw new ToolError(`'${name}' is no text file`);
  }
}

function linesOf(text) {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

// A glob as pathlib has it: ** is any folders, * any part of a name.
function matcher(pattern) {
  const escaped = pattern.replace(/\*\*$/, "**/*").split("**/")
    .map((part) => part.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]*").replace(/\?/g, "[^/]"));
  return new RegExp(`^${escaped.join("(?:.*/)?")}$`);
}

const mostCommon = (counts) => [...counts].sort((a, b) => b[1] - a[1]);
const count = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);

const TOOLS = {
  list_files(workspace, limits, { pattern = "**" }) {
    const root = fs.realpathSync(workspace);
    const wanted = matcher(pattern);
    const found = fs.readdirSync(root, { recursive: true })
      .map((name) => name.split(path.sep).join("/"))
      .filter((name) => wanted.test(name) && fs.statSync(path.join(root, name)).isFile()).sort();
    return found.map((name) => `${name} (${fs.statSync(path.join(root, name)).size} bytes)`).join("\n") || "no files";
  },

  read_file(workspace, limits, { file_path }) {
    return textOf(workspace, file_path);
  },

  search_file(workspace, limits, { file_path, query }) {
    const found = linesOf(textOf(workspace, file_path)).map((line, i) => [i + 1, line]).filter(([, line]) => line.includes(query));
    const shown = found.slice(0, limits.matches).map(([n, line]) => `${n}: ${line}`);
    return [`${found.length} lines of ${file_path} have '${query}'`, ...shown].join("\n");
  },

  aggregate_log_errors(workspace, limits, { log_path }) {
    const lines = linesOf(textOf(workspace, log_path));
    const levels = new Map(), where = new Map(), messages = new Map();
    const fields = { code: new Map(), node: new Map() };
    for (const line of lines) {
      const found = /\b(FATAL|ERROR|WARN|INFO|DEBUG)\b/.exec(line);
      if (!found) continue;
      count(levels, found[1]);
      if (found[1] !== "FATAL" && found[1] !== "ERROR") continue;
      const here = {};
      for (const key of Object.keys(fields)) {
        const value = new RegExp(`\\b${key}=(\\S+)`).exec(line);
        if (value) count(fields[key], (here[key] = value[1]));
      }
      if (here.code && here.node) count(where, `code=${here.code} node=${here.node}`);
      else count(messages, line.slice(found.index + found[0].length).replace(/\d+/g, "N").trim());
    }
    if (levels.size === 0) throw new ToolError(`no line of '${log_path}' has a level; it is no log`);
    const out = [`${log_path}: ${lines.length} lines`, "levels: " + mostCommon(levels).map(([k, n]) => `${k} ${n}`).join(", ")];
    for (const [key, values] of Object.entries(fields)) {
      if (values.size) out.push(`errors by ${key}: ` + mostCommon(values).slice(0, 10).map(([v, n]) => `${v} ${n} lines`).join(", "));
    }
    for (const [title, values] of [["errors by code and node", where], ["other errors", messages]]) {
      if (values.size) out.push(`${title}: ` + mostCommon(values).slice(0, 10).map(([v, n]) => `${v}: ${n} lines`).join(", "));
    }
    return out.join("\n");
  },

  describe_sqlite_table(workspace, limits, { db_path }) {
    return query(workspace, db_path, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").rows.join("\n");
  },

  query_sqlite(workspace, limits, { db_path, query: sql }) {
    const { columns, rows } = query(workspace, db_path, sql);
    const shown = rows.slice(0, limits.rows).map((row) => row.map((v) => (v === null ? "None" : String(v))).join(" | "));
    return [`${rows.length} rows`, columns.join(" | "), ...shown].join("\n");
  },
};

// The database is a copy in memory, so that the file stays as it is. What writes is refused, as for the other peers.
function query(workspace, name, sql) {
  const db = new sqlite.Database(fs.readFileSync(inside(workspace, name)));
  try {
    db.run("PRAGMA query_only = ON");
    const statement = db.prepare(sql);
    const rows = [];
    while (statement.step()) rows.push(statement.get());
    return { columns: statement.getColumnNames(), rows };
  } catch (error) {
    throw new ToolError(`SQLite: ${error.message ?? error}`);
  } finally {
    db.close();
  }
}

// Returns whether the call worked, and its text.
export function call(workspace, limits, name, args) {
  try {
    if (!Object.hasOwn(TOOLS, name)) throw new ToolError(`there is no tool '${name}'`);
    return [true, TOOLS[name](workspace, limits, args)];
  } catch (error) {
    return [false, error instanceof TypeError ? `${name}: wrong arguments` : error.message];
  }
}

// Cuts a large result as llama-agent does; see tools.py.
export function preview(text, task, limits) {
  if (Buffer.byteLength(text) <= limits.inline_bytes) return text;
  const half = Math.floor(limits.preview_chars / 2);
  const wordsOf = (s) => s.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = new Set(wordsOf(task).filter((w) => w.length > 3));
  const middle = linesOf(text.slice(half, -half));
  const score = middle.map((line) => new Set(wordsOf(line).filter((w) => words.has(w))).size);
  const best = middle.map((_, i) => i).sort((a, b) => score[b] - score[a]);
  const chosen = [];
  let room = half;
  for (const i of best) {
    if (room < middle[i].length) break;
    chosen.push(i);
    room -= middle[i].length;
  }
  const near = chosen.sort((a, b) => a - b).map((i) => middle[i]).join("\n");
  return `${text.slice(0, half)}\n[... parts that fit the task:]\n${near}\n[...]\n${text.slice(-half)}`;
}
