"""The peer (b): llama.cpp's own server behind a client of its OpenAI-style interface, in a plain loop."""
import http.client
import json
import socket
import subprocess
import sys
import time

import roles


class Server:
    """llama-server, for as long as this process lives. It keeps prompts in four slots that share one KV cache, and more in memory."""

    def __init__(self, options):
        self.options = options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        threads = str(options.threads)
        self.process = subprocess.Popen([
            options.server, "--model", options.model, "--host", "127.0.0.1", "--port", str(self.port), "--ctx-size", str(options.ctx),
            "--threads", threads, "--threads-batch", threads, "--flash-attn", "on", "--parallel", "4", "--kv-unified",
            "--cache-prompt", "--seed", str(options.seed), "--log-verbosity", "1",
        ], stdout=sys.stderr)
        while not self.ready():
            if self.process.poll() is not None:
                sys.exit(f"{options.server} ended with {self.process.returncode}; its messages are above")
            time.sleep(0.01)

    def ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def post(self, messages, limit=roles.LIMITS["reply_tokens"], **more):
        o = self.options
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/v1/chat/completions", json.dumps({
            "messages": messages, "temperature": o.temperature, "top_p": 0.9, "top_k": 40, "min_p": 0.0, "repeat_penalty": o.repeat_penalty,
            "max_tokens": limit, "cache_prompt": True, **more,
        }), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"llama-server answered {response.status}: {response.read(500)!r}")
        return response

    def complete(self, messages, schema, limit):
        more = {}
        if schema:
            more["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
        reply = json.load(self.post(messages, limit, **more))
        usage, timings = reply["usage"], reply["timings"]
        return roles.Reply(
            reply["choices"][0]["message"]["content"] or "", usage["prompt_tokens"], timings["prompt_n"], usage["completion_tokens"],
            timings["predicted_ms"],
        )

    def first_token(self, messages):
        for line in self.post(messages, stream=True):
            if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                return

    def stop(self):
        self.process.terminate()
        self.process.wait()  # so that its memory is counted with that of this process


def main():
    options = roles.arguments(__doc__)
    began = time.perf_counter()
    server = Server(options)
    loaded = (time.perf_counter() - began) * 1000
    work = roles.Roles(options.layout, server.complete)
    nodes = {"planner": work.plan, "executor": work.act, "reflector": work.review, "finalizer": work.answer}
    after = {"planner": lambda _: "executor", "executor": work.after_act, "reflector": work.after_review, "finalizer": lambda _: None}

    def do(state):
        work.start()
        node = "planner"
        while node:
            state = {**state, **nodes[node](state)}
            node = after[node](state)
        return work.report(state)

    try:
        roles.serve("llama-server + a loop", loaded, work.warm, do, server.first_token)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
