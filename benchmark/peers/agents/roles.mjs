// What roles.py is for the peers in Python: the prompts of the roles in both layouts, what is counted, and how the peer is asked.
import fs from "node:fs";
import readline from "node:readline";
import { parseArgs } from "node:util";
import { call, preview } from "./tools.mjs";

const TEXTS = JSON.parse(fs.readFileSync(new URL("roles.json", import.meta.url)));
export const LIMITS = TEXTS.limits;
const DONE = "done";

// Puts values in the places of their names. What a value holds is not looked at.
function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
}

const compact = (value) => JSON.stringify(value);
const record = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });
const text = (limit = LIMITS.text) => ({ type: "string", minLength: 1, maxLength: limit });
const oneOf = (...values) => ({ type: "string", enum: values });
const stepsOf = (state) => state.plan.map((s, i) => `${i + 1}. ${s.do} (${s.tool})`).join("\n");

// Neighbours of one role become one message.
function joined(messages) {
  const out = [];
  for (const [role, content] of messages) {
    if (out.at(-1)?.role === role) out.at(-1).content += "\n\n" + content;
    else out.push({ role, content });
  }
  return out;
}

// A system prompt for each role, with results inline and whole.
class Idiomatic {
  texts = TEXTS.idiomatic;

  shown(state, result) {
    return result;
  }

  ask(role, user, state, values = {}) {
    const tools = state.tools.map((t) => `- ${t.name}: ${t.description}`).join("\n");
    const schemas = state.tools.map(compact).join("\n");
    return [
      ["system", fill(this.texts[role], { tools, schemas })],
      ["user", fill(this.texts[user], { task: state.goal, workspace: state.facts, ...values })],
    ];
  }

  plan(state) {
    const messages = this.ask("planner", "planner_user", state);
    if (state.missing) messages.push(["user", fill(this.texts.planner_missing, { missing: state.missing })]);
    const step = record({ do: text(), tool: oneOf(...state.tools.map((t) => t.name)) });
    return [joined(messages), record({ steps: { type: "array", items: step, minItems: 1, maxItems: LIMITS.plan_steps } })];
  }

  act(state) {
    const messages = this.ask("executor", "executor_user", state);
    let last = 0;
    for (let n = 1; n <= state.step + 1; n++) {
      messages.push(["user", fill(this.texts.executor_step, { number: n, ...state.plan[n - 1] })]);
      for (const c of state.calls.filter((c) => c.round === state.round && c.step === n)) {
        messages.push(["assistant", compact({ tool: c.tool, arguments: c.arguments })]);
        messages.push(["user", fill(this.texts.result, { tool: c.tool, text: c.text })]);
        last = n;
      }
    }
    const calls = state.tools.map((t) => record({ tool: oneOf(t.name), arguments: t.parameters }));
    if (last === state.step + 1) calls.push(record({ tool: oneOf(DONE) }));
    return [joined(messages), { anyOf: calls }];
  }

  results(state) {
    return state.calls.map((c) => `${c.tool}(${compact(c.arguments)}):\n${c.text}`).join("\n\n");
  }

  review(state) {
    const messages = this.ask("reflector", "reflector_user", state, { steps: stepsOf(state), results: this.results(state) });
    return [joined(messages), record({ decision: oneOf(DONE, "continue"), missing: { type: "string", maxLength: LIMITS.text } })];
  }

  answer(state) {
    return [joined(this.ask("finalizer", "finalizer_user", state, { results: this.results(state) })), null];
  }
}

// The prompt of llama-agent: one text that grows, and the instruction of the role last; see roles.py.
class Trunk {
  texts = TEXTS.trunk;

  shown(state, result) {
    return preview(result, state.goal, LIMITS);
  }

  grown(state, instruction) {
    return [...state.trunk.messages, ...joined([["user", state.trunk.task], ...state.transcript, ["user", instruction]])];
  }

  plan(state) {
    const instruction = state.missing ? fill(this.texts.missing, { task: state.goal, missing: state.missing }) : state.trunk.instruction;
    return [this.grown(state, instruction), state.trunk.schema];
  }

  act(state) {
    const step = state.plan[state.step];
    const tool = state.tools.find((t) => t.name === step.tool) ?? state.tools[0];
    const parameters = Object.entries(tool.parameters.properties).map(([n, p]) => `- ${n} (${p.type}): ${p.description ?? ""}`).join("\n");
    const file = (step.file ?? "none") === "none" ? "" : ` (${step.file})`;
    const values = { number: state.step + 1, do: step.do, file, task: state.goal, tool: step.tool, parameters };
    return [this.grown(state, fill(this.texts.call, values)), tool.parameters];
  }

  review(state) {
    const missing = { type: "array", items: text(), maxItems: 3 };
    const instruction = fill(this.texts.review, { task: state.goal, steps: stepsOf(state) });
    return [this.grown(state, instruction), record({ decision: oneOf(DONE, "continue", "failed"), missing })];
  }

  answer(state) {
    return [this.grown(state, fill(this.texts.answer, { task: state.goal })), null];
  }
}

// The object that a reply is. One that was cut at its cap is no object.
function parsed(reply) {
  try {
    const value = JSON.parse(reply);
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

// The work of the four roles, with a model behind complete(role, messages, schema, limit of tokens), which gives a reply with text,
// prompt, evaluated, completion (tokens) and decodeMS. Each returns what it changes of the state.
export class Roles {
  constructor(layout, complete) {
    this.layout = layout === "trunk" ? new Trunk() : new Idiomatic();
    this.trunk = layout === "trunk";
    this.complete = complete;
  }

  start() {
    this.began = performance.now();
    this.replies = [];
    this.callsMS = [];
    this.first = undefined;
  }

  elapsed() {
    return performance.now() - this.began;
  }

  // Reads what all tasks share, into whatever cache the peer has.
  warm = async (state) => {
    const begun = { ...state, plan: [{ do: state.goal, tool: state.tools[0].name }] };
    for (const role of ["plan", "act", "review", "answer"]) {
      const [messages, schema] = this.layout[role](begun);
      await this.complete(role, messages, schema, 1);
    }
    return {};
  };

  async ask(role, state) {
    const [messages, schema] = this.layout[role](state);
    const reply = await this.complete(role, messages, schema, LIMITS.reply_tokens);
    console.error(`${reply.evaluated} of ${reply.prompt} tokens, ${reply.completion} in ${Math.round(reply.decodeMS)} ms: ${compact(reply.text.slice(0, 300))}`);
    this.replies.push(reply);
    return reply;
  }

  plan = async (state) => {
    const reply = await this.ask("plan", state);
    this.first ??= { first_step_ms: this.elapsed(), first_step_evaluated: reply.evaluated };
    const plan = (parsed(reply.text).steps ?? []).filter((s) => s.tool && s.tool !== "none");
    return { plan, step: 0, round: state.round + 1, transcript: [...state.transcript, ["assistant", reply.text]] };
  };

  // Does one call of the current step, or goes on to the next step.
  act = async (state) => {
    if (state.step >= state.plan.length) return { step: state.step };
    const step = state.plan[state.step], number = state.step + 1;
    const reply = await this.ask("act", state);
    let made = parsed(reply.text);
    if (this.trunk) made = { tool: step.tool, arguments: made };
    if ((made.tool ?? DONE) === DONE) return { step: number };
    this.callsMS.push(reply.decodeMS);
    const [ok, whole] = call(state.workspace, LIMITS, made.tool, made.arguments ?? {});
    const result = this.layout.shown(state, whole);
    const calls = [...state.calls, { round: state.round, step: number, text: result, ...made }];
    const tries = calls.filter((c) => c.step === number && c.round === state.round).length;
    // In the trunk a call that worked ends its step, as in llama-agent. Else the model says when a step is done.
    const over = tries >= LIMITS.calls_per_step || (this.trunk && ok);
    const wording = fill(TEXTS.trunk[ok ? "result" : "error"], { tool: made.tool, number, text: result });
    return {
      calls, step: over ? number : state.step, transcript: [...state.transcript, ["assistant", compact(made)], ["user", wording]],
    };
  };

  review = async (state) => {
    const reply = await this.ask("review", state);
    const { decision = DONE, missing = "" } = parsed(reply.text);
    return {
      decision, missing: Array.isArray(missing) ? missing.join("; ") : missing, transcript: [...state.transcript, ["assistant", reply.text]],
    };
  };

  answer = async (state) => ({ answer: (await this.ask("answer", state)).text.trim() });

  afterAct = (state) => (state.step < state.plan.length ? "executor" : "reflector");

  afterReview = (state) => (state.decision === "continue" && state.missing && state.round < LIMITS.rounds ? "planner" : "finalizer");

  report(state) {
    const total = (field) => this.replies.reduce((sum, r) => sum + r[field], 0);
    return {
      status: "done", answer: state.answer, tools: state.calls.map((c) => c.tool), results: state.calls.map((c) => c.text),
      duration_ms: this.elapsed(), prompt_tokens: total("prompt"), evaluated_tokens: total("evaluated"), completion_tokens: total("completion"),
      model_calls: this.replies.length, tool_call_ms: this.callsMS, ...this.first,
    };
  }
}

export function options() {
  const string = (value) => ({ type: "string", default: value });
  const { values } = parseArgs({
    options: {
      model: { type: "string" }, layout: { type: "string" }, threads: string("2"), ctx: string("16384"), temperature: string("0"),
      "repeat-penalty": string("1.1"), seed: string("42"), server: string(""),
    },
  });
  return {
    model: values.model, layout: values.layout, threads: Number(values.threads), ctx: Number(values.ctx),
    temperature: Number(values.temperature), repeatPenalty: Number(values["repeat-penalty"]), seed: Number(values.seed),
  };
}

// Answers jobs, a line of JSON each, until the input ends: with what warm(state) or run(state) comes to, or as soon as
// firstToken(messages) is done.
export async function serve(name, loadMS, warm, run, firstToken) {
  const tell = (value) => process.stdout.write(compact(value) + "\n");
  tell({ name, load_ms: loadMS });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { op, ...job } = JSON.parse(line);
    try {
      if (op === "first_token") {
        await firstToken(job.messages);
        tell({});
      } else {
        tell(await (op === "warm" ? warm : run)({ ...job, plan: [], step: 0, calls: [], transcript: [], round: 0, missing: "", decision: "", answer: "" }));
      }
    } catch (error) { // the measurement goes on with the next task
      tell({ status: "failed", error: String(error) });
    }
  }
}
