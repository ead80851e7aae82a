"""The peer (a): llama-cpp-python behind a LangGraph StateGraph of planner, executor, reflector and finalizer."""
import importlib.metadata
import json
import time
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from llama_cpp import Llama, LlamaGrammar, LlamaRAMCache

import roles

PROMPT_CACHE_BYTES = 1 << 30


class State(TypedDict, total=False):
    goal: str
    workspace: str
    facts: str
    tools: list[dict]
    trunk: dict[str, Any]
    plan: list[dict]
    step: int
    calls: list[dict]
    transcript: list[tuple[str, str]]
    round: int
    missing: str
    decision: str
    answer: str


class Model:
    """The model with its prompt cache: the last prompt's KV cache, and states of earlier ones in memory."""

    def __init__(self, options):
        self.options, self.grammars = options, {}
        self.llm = Llama(
            model_path=options.model, n_ctx=options.ctx, n_threads=options.threads, n_threads_batch=options.threads,
            n_batch=512, flash_attn=True, seed=options.seed, verbose=False,
        )
        self.llm.set_cache(LlamaRAMCache(PROMPT_CACHE_BYTES))
        self.evaluate, self.llm.eval = self.llm.eval, self.counted

    def counted(self, tokens):
        """The first batch of a reply is what the cache lacks of its prompt."""
        self.evaluate(tokens)
        if self.evaluated is None:
            self.evaluated, self.read = len(tokens), time.perf_counter()

    def grammar(self, schema):
        key = json.dumps(schema)
        if key not in self.grammars:
            self.grammars[key] = LlamaGrammar.from_json_schema(key, verbose=False)
        return self.grammars[key]

    def chat(self, messages, schema=None, limit=roles.LIMITS["reply_tokens"], **more):
        self.evaluated = None
        return self.llm.create_chat_completion(
            messages, grammar=self.grammar(schema) if schema else None, temperature=self.options.temperature, top_p=0.9, top_k=40,
            min_p=0.0, repeat_penalty=self.options.repeat_penalty, max_tokens=limit, **more,
        )

    def complete(self, messages, schema, limit):
        reply = self.chat(messages, schema, limit)
        ended, usage = time.perf_counter(), reply["usage"]
        return roles.Reply(
            reply["choices"][0]["message"]["content"] or "", usage["prompt_tokens"], self.evaluated or 0, usage["completion_tokens"],
            (ended - self.read) * 1000,
        )

    def first_token(self, messages):
        for chunk in self.chat(messages, stream=True):
            if chunk["choices"][0]["delta"].get("content"):
                return


def build(work):
    graph = StateGraph(State)
    graph.add_node("planner", work.plan)
    graph.add_node("executor", work.act)
    graph.add_node("reflector", work.review)
    graph.add_node("finalizer", work.answer)
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "executor")
    graph.add_conditional_edges("executor", work.after_act, ["executor", "reflector"])
    graph.add_conditional_edges("reflector", work.after_review, ["planner", "finalizer"])
    graph.add_edge("finalizer", END)
    return graph.compile()


def main():
    options = roles.arguments(__doc__)
    began = time.perf_counter()
    model = Model(options)
    loaded = (time.perf_counter() - began) * 1000
    work = roles.Roles(options.layout, model.complete)
    graph = build(work)

    def do(state):
        work.start()
        return work.report(graph.invoke(state, {"recursion_limit": 100}))

    versions = " + ".join(f"{p} {importlib.metadata.version(p)}" for p in ("llama-cpp-python", "langgraph"))
    roles.serve(versions, loaded, work.warm, do, model.first_token)


if __name__ == "__main__":
    main()
