"""Measures LangGraph on the graphs of graph/bench_test.go and prints what Go's benchmarks print.

usage: bench.py [--times N] [NAME ...]

NAME is part of a benchmark's name; without any, all run. Each runs N times (default 5) after a warm-up. Savers are LangGraph's
own: SqliteSaver as its documentation opens it, but for the synchronous level, which is set to the one that is measured, and
InMemorySaver. Boundaries are stored with durability="sync": before the next step begins, as graph does.
"""
import argparse
import gc
import operator
import os
import sqlite3
import sys
import tempfile
import time
import tracemalloc
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send

now = time.perf_counter_ns


class Texts(TypedDict):
    count: int
    trail: Annotated[list, operator.add]


class Messages(TypedDict):
    count: int
    trail: Annotated[list, add_messages]


class Total(TypedDict):
    total: Annotated[int, operator.add]


def loop(n, add, state=Texts, saver=None, begun=None):
    """A graph of one node that runs n times and appends what add returns each time."""

    def step(s):
        if begun is not None:
            begun.append(now())
        return {"count": s["count"] + 1, "trail": [add()]}

    g = StateGraph(state)
    g.add_node("step", step)
    g.add_edge(START, "step")
    g.add_conditional_edges("step", lambda s: "step" if s["count"] < n else END, ["step", END])
    return g.compile(checkpointer=saver)


def text(size):
    return lambda: "x" * size


GROWING = {
    "text-100B": (text(100), Texts),
    "text-1kB": (text(1000), Texts),
    "message-1kB": (lambda: AIMessage("x" * 1000), Messages),
}


def config(thread, steps):
    return {"recursion_limit": steps + 2, "configurable": {"thread_id": thread}}


def run(graph, thread, steps):
    graph.invoke({"count": 0, "trail": []}, config(thread, steps), durability="sync")


def open_file(path, synchronous):
    conn = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(conn)
    saver.setup()  # sets the journal mode
    conn.execute(f"PRAGMA synchronous={synchronous}")
    return saver


def file_size(path):
    return sum(os.path.getsize(path + s) for s in ("", "-wal") if os.path.exists(path + s))


def report(name, times, **metrics):
    print(f"Benchmark{name}\t{times}\t" + "\t".join(f"{v:.0f} {k.replace('_', '-').replace('-per-', '/')}" for k, v in metrics.items()), flush=True)


def percentiles(times):
    times = sorted(times)
    return {"p50_ns": times[len(times) // 2], "p99_ns": times[len(times) * 99 // 100]}


def superstep(n, _):
    steps = 1000
    g = loop(steps, text(10))
    limit = {"recursion_limit": steps + 2}
    g.invoke({"count": 0, "trail": []}, limit)
    start = now()
    for _ in range(n):
        g.invoke({"count": 0, "trail": []}, limit)
    report("Superstep", n, ns_per_step=(now() - start) / n / steps)


def fan_out(n, _):
    g = StateGraph(Total)
    g.add_node("work", lambda s: {"total": s["total"]})
    g.add_conditional_edges(START, lambda s: [Send("work", {"total": i}) for i in range(1000)], ["work"])
    g = g.compile()
    g.invoke({"total": 0})
    start = now()
    for _ in range(n):
        assert g.invoke({"total": 0})["total"] == 999 * 1000 // 2
    report("FanOut", n, ns_per_op=(now() - start) / n)


def boundary(n, folder):
    for level in ("FULL", "NORMAL"):
        for name, (add, state) in GROWING.items():
            saver = open_file(os.path.join(folder, f"boundary-{level}-{name}.sqlite"), level)
            begun = []
            g = loop(200, add, state, saver, begun)
            run(g, "warm up", 200)
            times = []
            for i in range(n):
                begun.clear()
                run(g, str(i), 200)
                times += [b - a for a, b in zip(begun, begun[1:])]
            saver.conn.close()
            report(f"Boundary/{level}/{name}", n, **percentiles(times))


def size(_, folder):
    for name, (add, state) in GROWING.items():
        metrics = {}
        for steps in (50, 100, 150, 200):
            path = os.path.join(folder, f"size-{name}-{steps}.sqlite")
            saver = open_file(path, "OFF")
            run(loop(steps, add, state, saver), "t", steps)
            saver.conn.close()
            metrics[f"bytes_{steps}"] = file_size(path)
        report(f"FileSize/{name}", 1, **metrics)


def copies(saver, threads):
    """Copies the rows of thread t to threads t0, t1 and so on."""
    with saver.cursor() as cur:
        for table in ("checkpoints", "writes"):
            rows = cur.execute(f"SELECT * FROM {table} WHERE thread_id = 't'").fetchall()
            marks = ", ".join("?" * len(rows[0]))
            cur.executemany(f"INSERT INTO {table} VALUES ({marks})", ((f"t{i}", *row[1:]) for i in range(threads) for row in rows))


def many_threads(n, folder):
    threads, steps = 10_000, 5
    path = os.path.join(folder, "many.sqlite")
    saver = open_file(path, "OFF")
    run(loop(steps, text(100), saver=saver), "t", steps)
    copies(saver, threads)
    saver.conn.close()
    saver = open_file(path, "FULL")
    g = loop(steps, text(100), saver=saver)

    def measure(name, op):
        times = []
        for i in range(n):
            start = now()
            op(f"t{i * 7919 % threads}")
            times.append(now() - start)
        report(f"ManyThreads/{name}", n, **percentiles(times))

    # It has no list of threads: the newest checkpoints of all of them come nearest.
    measure("list", lambda _: list(saver.list(None, limit=20)))
    measure("resume", lambda thread: g.get_state(config(thread, steps)))
    measure("delete", saver.delete_thread)
    saver.conn.close()


def idle_thread(_, folder):
    threads, steps = 2000, 5
    saver = InMemorySaver()
    g = loop(steps, text(100), saver=saver)
    run(g, "warm up", steps)
    gc.collect()
    tracemalloc.start()
    for i in range(threads):
        run(g, f"t{i}", steps)
    gc.collect()
    heap = tracemalloc.get_traced_memory()[0] / threads
    tracemalloc.stop()
    path = os.path.join(folder, "idle.sqlite")
    saver = open_file(path, "OFF")
    run(loop(steps, text(100), saver=saver), "t", steps)
    copies(saver, threads)
    saver.conn.close()
    report("IdleThread", 1, **{"heap_B_per_thread": heap, "file_B_per_thread": file_size(path) / threads})


def history(n, folder):
    saver = open_file(os.path.join(folder, "history.sqlite"), "OFF")
    g = loop(200, text(100), saver=saver)
    run(g, "t", 200)
    start = now()
    for _ in range(n):
        assert len(list(g.get_state_history(config("t", 200)))) == 202
    report("History", n, ns_per_op=(now() - start) / n)
    saver.conn.close()


ALL = {
    "Superstep": superstep,
    "FanOut": fan_out,
    "Boundary": boundary,
    "FileSize": size,
    "ManyThreads": many_threads,
    "IdleThread": idle_thread,
    "History": history,
}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--times", type=int, default=5)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    unknown = [n for n in args.names if not any(n in name for name in ALL)]
    if unknown:
        sys.exit(f"error: no benchmark is named {', '.join(unknown)}; there are {', '.join(ALL)}")
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in ALL.items():
            if not args.names or any(n in name for n in args.names):
                measure(args.times, folder)


if __name__ == "__main__":
    main()
