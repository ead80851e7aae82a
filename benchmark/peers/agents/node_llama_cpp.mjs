// The peer (c): node-llama-cpp behind a LangGraph StateGraph of planner, executor, reflector and finalizer.
import fs from "node:fs";
import { createRequire } from "node:module";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { getLlama, LlamaChatSession } from "node-llama-cpp";
import { LIMITS, options, Roles, serve } from "./roles.mjs";

const State = Annotation.Root(Object.fromEntries([
  "goal", "workspace", "facts", "tools", "trunk", "plan", "step", "calls", "transcript", "round", "missing", "decision", "answer",
].map((name) => [name, Annotation()])));

// What node-llama-cpp takes of JSON schemas calls anyOf oneOf, and knows no bounds of numbers.
function dialect(schema) {
  if (Array.isArray(schema)) return schema.map(dialect);
  if (!schema || typeof schema !== "object") return schema;
  const { anyOf, minimum, maximum, default: _, ...rest } = schema;
  if (anyOf) return { oneOf: anyOf.map(dialect) };
  if (rest.enum || rest.const !== undefined) return { enum: rest.enum ?? [rest.const] };
  if (rest.properties) rest.properties = Object.fromEntries(Object.entries(rest.properties).map(([k, v]) => [k, dialect(v)]));
  if (rest.items) rest.items = dialect(rest.items);
  return rest;
}

// The model, with a sequence of the context, and so a prompt cache, for each role; in the trunk layout one sequence for all.
class Model {
  sessions = {};
  grammars = new Map();

  static async open(o) {
    const model = new Model();
    model.options = o;
    model.llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: o.threads, progressLogs: false });
    model.loaded = await model.llama.loadModel({ modelPath: o.model });
    const roles = o.layout === "trunk" ? 1 : 4;
    model.context = await model.loaded.createContext({
      contextSize: o.ctx, sequences: roles, threads: o.threads, batchSize: 512, flashAttention: true,
    });
    return model;
  }

  session(role) {
    const key = this.options.layout === "trunk" ? "all" : role;
    this.sessions[key] ??= new LlamaChatSession({ contextSequence: this.context.getSequence() });
    return this.sessions[key];
  }

  async grammar(schema) {
    const key = JSON.stringify(schema);
    if (!this.grammars.has(key)) this.grammars.set(key, await this.llama.createGrammarForJsonSchema(dialect(schema)));
    return this.grammars.get(key);
  }

  async complete(role, messages, schema, limit, onFirst = () => {}) {
    const session = this.session(role);
    session.setChatHistory(messages.slice(0, -1).map(({ role, content }) => (
      role === "assistant" ? { type: "model", response: [content] } : { type: role, text: content })));
    const meter = session.sequence.tokenMeter.getState();
    let read = 0, completion = 0;
    const first = (tokens) => {
      completion += tokens.length;
      if (read === 0) {
        read = performance.now();
        onFirst();
      }
    };
    const text = await session.prompt(messages.at(-1).content, {
      grammar: schema ? await this.grammar(schema) : undefined, temperature: this.options.temperature, topP: 0.9, topK: 40, minP: 0,
      repeatPenalty: { penalty: this.options.repeatPenalty }, maxTokens: limit, seed: this.options.seed, onToken: first,
    });
    const decodeMS = performance.now() - read;
    // What was evaluated is told; how long the prompt was is what the sequence holds at the end, without the reply.
    const evaluated = session.sequence.tokenMeter.diff(meter).usedInputTokens;
    return { text, prompt: Math.max(evaluated, session.sequence.nextTokenIndex - completion), evaluated, completion, decodeMS };
  }

  firstToken(messages) {
    return new Promise((resolve, reject) => this.complete("answer", messages, null, LIMITS.reply_tokens, resolve).catch(reject));
  }
}

function build(work) {
  return new StateGraph(State)
    .addNode("planner", work.plan)
    .addNode("executor", work.act)
    .addNode("reflector", work.review)
    .addNode("finalizer", work.answer)
    .addEdge(START, "planner")
    .addEdge("planner", "executor")
    .addConditionalEdges("executor", work.afterAct, ["executor", "reflector"])
    .addConditionalEdges("reflector", work.afterReview, ["planner", "finalizer"])
    .addEdge("finalizer", END)
    .compile();
}

const began = performance.now();
const model = await Model.open(options());
const loaded = performance.now() - began;
const work = new Roles(options().layout, (...request) => model.complete(...request));
const graph = build(work);
const version = (name) => {
  const folders = createRequire(import.meta.url).resolve.paths(name);
  const file = folders.map((folder) => `${folder}/${name}/package.json`).find((path) => fs.existsSync(path));
  return `${name} ${JSON.parse(fs.readFileSync(file)).version}`;
};
await serve(`${version("node-llama-cpp")} + ${version("@langchain/langgraph")}`, loaded, work.warm, async (state) => {
  work.start();
  return work.report(await graph.invoke(state, { recursionLimit: 100 }));
}, (messages) => model.firstToken(messages));
process.exit(0);
