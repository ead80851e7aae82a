"""Prints the engine's speed beside llama.cpp's own, as ratios of medians of one run.

usage: bench_ratio.py LLAMA_BENCH_JSONL GO_BENCH_OUTPUT
"""
import json
import re
import statistics
import sys

llama = {"Prefill": [], "Decode": []}
for line in open(sys.argv[1]):
    row = json.loads(line)
    llama["Decode" if row["n_gen"] else "Prefill"].append(row["avg_ts"])

engine = {"Prefill": [], "Decode": []}
for line in open(sys.argv[2]):
    found = re.match(r"Benchmark(Prefill|Decode)\S*\s.*?([\d.]+) tokens/s", line)
    if found:
        engine[found[1]].append(float(found[2]))

print(f"{'tokens/s (median)':20} {'llama.cpp':>10} {'engine':>10} {'ratio':>8}")
for name in ("Prefill", "Decode"):
    if not llama[name] or not engine[name]:
        sys.exit(f"error: no figures for {name}; see the files named on the command line")
    a, b = statistics.median(llama[name]), statistics.median(engine[name])
    print(f"{name:20} {a:10.1f} {b:10.1f} {b / a:8.2f}")
