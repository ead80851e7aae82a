"""What the peers in Python have in common: the prompts of the roles in both layouts, what is counted, and how they are asked.

A state is a dict with the job ("goal", "workspace", "facts", "tools", "trunk") and what the work has come to ("plan", "step", "calls",
"round", "missing"). The functions of a layout turn it into messages and the JSON schema of the reply (None: free text).
"""
import argparse
import json
import pathlib
import re
import sys
import time

TEXTS = json.loads(pathlib.Path(__file__).with_name("roles.json").read_text())
LIMITS = TEXTS["limits"]
DONE = "done"


def fill(template, /, **values):
    """Puts values in the places of their names. What a value holds is not looked at."""
    return re.sub(r"\{(\w+)\}", lambda m: str(values.get(m[1], m[0])), template)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def text(limit=LIMITS["text"]):
    return {"type": "string", "minLength": 1, "maxLength": limit}


def one_of(*values):
    return {"type": "string", "enum": list(values)}


def steps_of(state):
    return "\n".join(f"{i}. {s['do']} ({s['tool']})" for i, s in enumerate(state["plan"], 1))


def joined(messages):
    """Neighbours of one role become one message."""
    out = []
    for role, content in messages:
        if out and out[-1]["role"] == role:
            out[-1]["content"] += "\n\n" + content
        else:
            out.append({"role": role, "content": content})
    return out


class Idiomatic:
    """A system prompt for each role, with results inline and whole."""

    texts = TEXTS["idiomatic"]

    def shown(self, state, result):
        return result

    def ask(self, role, user, state, **values):
        tools = "\n".join(f"- {t['name']}: {t['description']}" for t in state["tools"])
        schemas = "\n".join(compact(t) for t in state["tools"])
        return [
            ("system", fill(self.texts[role], tools=tools, schemas=schemas)),
            ("user", fill(self.texts[user], task=state["goal"], workspace=state["facts"], **values)),
        ]

    def plan(self, state):
        messages = self.ask("planner", "planner_user", state)
        if state["missing"]:
            messages.append(("user", fill(self.texts["planner_missing"], missing=state["missing"])))
        step = record(do=text(), tool=one_of(*(t["name"] for t in state["tools"])))
        return joined(messages), record(steps={"type": "array", "items": step, "minItems": 1, "maxItems": LIMITS["plan_steps"]})

    def act(self, state):
        messages = self.ask("executor", "executor_user", state)
        last = 0
        for n in range(1, state["step"] + 2):
            step = state["plan"][n - 1]
            messages.append(("user", fill(self.texts["executor_step"], number=n, **step)))
            for c in (c for c in state["calls"] if c["round"] == state["round"] and c["step"] == n):
                messages.append(("assistant", compact({"tool": c["tool"], "arguments": c["arguments"]})))
                messages.append(("user", fill(self.texts["result"], tool=c["tool"], text=c["text"])))
                last = n
        calls = [record(tool=one_of(t["name"]), arguments=t["parameters"]) for t in state["tools"]]
        if last == state["step"] + 1:
            calls.append(record(tool=one_of(DONE)))
        return joined(messages), {"anyOf": calls}

    def results(self, state):
        return "\n\n".join(f"{c['tool']}({compact(c['arguments'])}):\n{c['text']}" for c in state["calls"])

    def review(self, state):
        messages = self.ask("reflector", "reflector_user", state, steps=steps_of(state), results=self.results(state))
        return joined(messages), record(decision=one_of(DONE, "continue"), missing={"type": "string", "maxLength": LIMITS["text"]})

    def answer(self, state):
        return joined(self.ask("finalizer", "finalizer_user", state, results=self.results(state))), None


class Trunk:
    """The prompt of llama-agent: one text that grows, and the instruction of the role last. What stands before the first plan, and the
    schema of that, come from llama-agent itself."""

    texts = TEXTS["trunk"]

    def shown(self, state, result):
        from tools import preview

        return preview(result, state["goal"], LIMITS)

    def grown(self, state, instruction):
        trunk = state["trunk"]
        messages = [(m["role"], m["content"]) for m in trunk["messages"]]
        base = [{"role": role, "content": content} for role, content in messages]
        return base + joined([("user", trunk["task"]), *state["transcript"], ("user", instruction)])

    def plan(self, state):
        instruction = state["trunk"]["instruction"]
        if state["missing"]:
            instruction = fill(self.texts["missing"], task=state["goal"], missing=state["missing"])
        return self.grown(state, instruction), state["trunk"]["schema"]

    def act(self, state):
        step = state["plan"][state["step"]]
        tool = next((t for t in state["tools"] if t["name"] == step["tool"]), state["tools"][0])
        parameters = "\n".join(f"- {n} ({p['type']}): {p.get('description', '')}" for n, p in tool["parameters"]["properties"].items())
        file = f" ({step['file']})" if step.get("file", "none") != "none" else ""
        return self.grown(state, fill(
            self.texts["call"], number=state["step"] + 1, do=step["do"], file=file, task=state["goal"], tool=step["tool"], parameters=parameters,
        )), tool["parameters"]

    def review(self, state):
        missing = {"type": "array", "items": text(), "maxItems": 3}
        return self.grown(state, fill(self.texts["review"], task=state["goal"], steps=steps_of(state))), record(
            decision=one_of(DONE, "continue", "failed"), missing=missing)

    def answer(self, state):
        return self.grown(state, fill(self.texts["answer"], task=state["goal"])), None


LAYOUTS = {"idiomatic": Idiomatic, "trunk": Trunk}


def started(job):
    return {**job, "plan": [], "step": 0, "calls": [], "transcript": [], "round": 0, "missing": "", "decision": "", "answer": ""}


class Roles:
    """The work of the four roles, with a model behind complete(messages, schema, limit of tokens) -> Reply. Each returns what it changes
    of the state."""

    def __init__(self, layout, complete):
        self.layout, self.complete = LAYOUTS[layout](), complete
        self.trunk = layout == "trunk"

    def start(self):
        self.began, self.replies, self.calls_ms, self.first = time.perf_counter(), [], [], None

    def warm(self, state):
        """Reads what all tasks share, into whatever cache the peer has."""
        state = {**state, "plan": [{"do": state["goal"], "tool": state["tools"][0]["name"]}]}
        for prompt in (self.layout.plan, self.layout.act, self.layout.review, self.layout.answer):
            self.complete(*prompt(state), 1)
        return {}

    def ask(self, prompt):
        messages, schema = prompt
        reply = self.complete(messages, schema, LIMITS["reply_tokens"])
        print(f"{reply.evaluated} of {reply.prompt} tokens, {reply.completion} in {reply.decode_ms:.0f} ms: {reply.text[:300]!r}", file=sys.stderr)
        self.replies.append(reply)
        return reply

    def plan(self, state):
        reply = self.ask(self.layout.plan(state))
        if self.first is None:
            self.first = {"first_step_ms": self.elapsed(), "first_step_evaluated": reply.evaluated}
        steps = [s for s in parsed(reply.text).get("steps", []) if s.get("tool") and s["tool"] != "none"]
        return {
            "plan": steps, "step": 0, "round": state["round"] + 1,
            "transcript": [*state["transcript"], ("assistant", reply.text)],
        }

    def act(self, state):
        """Does one call of the current step, or goes on to the next step."""
        if state["step"] >= len(state["plan"]):
            return {}
        step, number = state["plan"][state["step"]], state["step"] + 1
        reply = self.ask(self.layout.act(state))
        made = parsed(reply.text)
        if self.trunk:
            made = {"tool": step["tool"], "arguments": made}
        if made.get("tool", DONE) == DONE:
            return {"step": number}
        self.calls_ms.append(reply.decode_ms)
        ok, result = call_tool(state, made)
        result = self.layout.shown(state, result)
        call = {"round": state["round"], "step": number, "text": result, **made}
        calls = [*state["calls"], call]
        tries = sum(c["step"] == number and c["round"] == state["round"] for c in calls)
        # In the trunk a call that worked ends its step, as in llama-agent. Else the model says when a step is done.
        over = tries >= LIMITS["calls_per_step"] or self.trunk and ok
        wording = fill(TEXTS["trunk"]["result" if ok else "error"], tool=made["tool"], number=number, text=result)
        return {
            "calls": calls, "step": number if over else state["step"],
            "transcript": [*state["transcript"], ("assistant", compact(made)), ("user", wording)],
        }

    def review(self, state):
        reply = self.ask(self.layout.review(state))
        verdict = parsed(reply.text)
        missing = verdict.get("missing") or ""
        return {
            "decision": verdict.get("decision", DONE), "missing": missing if isinstance(missing, str) else "; ".join(missing),
            "transcript": [*state["transcript"], ("assistant", reply.text)],
        }

    def answer(self, state):
        return {"answer": self.ask(self.layout.answer(state)).text.strip()}

    def after_act(self, state):
        return "executor" if state["step"] < len(state["plan"]) else "reflector"

    def after_review(self, state):
        again = state["decision"] == "continue" and state["missing"] and state["round"] < LIMITS["rounds"]
        return "planner" if again else "finalizer"

    def elapsed(self):
        return (time.perf_counter() - self.began) * 1000

    def report(self, state):
        total = lambda field: sum(getattr(r, field) for r in self.replies)
        return {
            "status": "done", "answer": state["answer"], "tools": [c["tool"] for c in state["calls"]], "results": [c["text"] for c in state["calls"]],
            "duration_ms": self.elapsed(), "prompt_tokens": total("prompt"), "evaluated_tokens": total("evaluated"),
            "completion_tokens": total("completion"), "model_calls": len(self.replies), "tool_call_ms": self.calls_ms, **(self.first or {}),
        }


class Reply:
    """A reply: its text, tokens of the prompt, of these evaluated, tokens of the reply, and ms from the last prompt token to its end."""

    def __init__(self, text, prompt, evaluated, completion, decode_ms):
        self.text, self.prompt, self.evaluated, self.completion, self.decode_ms = text, prompt, evaluated, completion, decode_ms


def parsed(reply):
    """The object that a reply is. One that was cut at its cap is no object."""
    try:
        value = json.loads(reply)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def call_tool(state, made):
    import tools

    return tools.call(state["workspace"], LIMITS, made["tool"], made.get("arguments", {}))


def arguments(description):
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("--model", required=True)
    flags.add_argument("--layout", required=True, choices=LAYOUTS)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--ctx", type=int, default=16384)
    flags.add_argument("--temperature", type=float, default=0.0)
    flags.add_argument("--repeat-penalty", type=float, default=1.1)
    flags.add_argument("--seed", type=int, default=42)
    flags.add_argument("--server", default="", help="llama-server, for the peer that needs it")
    return flags.parse_args()


def serve(name, load_ms, warm, do, first_token):
    """Answers jobs, a line of JSON each, until the input ends: with what warm(state) or do(state) returns, or as soon as
    first_token(messages) does."""
    def tell(value):
        print(compact(value), flush=True)

    tell({"name": name, "load_ms": load_ms})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            op = job.pop("op")
            if op == "first_token":
                first_token(job["messages"])
                tell({})
            else:
                tell({"warm": warm, "task": do}[op](started(job)))
        except Exception as error:  # the measurement goes on with the next task
            tell({"status": "failed", "error": f"{type(error).__name__}: {error}"})
