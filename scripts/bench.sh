#!/usr/bin/env bash
# Measures on this machine, in one run: decode and prefill of the engine beside llama.cpp's own benchmark for the same
# model and threads, and the graph library beside LangGraph. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

model=$(realpath "${MODEL:?set MODEL to a GGUF file}")
out=build/bench
mkdir -p "$out"
threads=${THREADS:-$(getconf _NPROCESSORS_ONLN)}
rounds=${ROUNDS:-3}

say "decode and prefill, $threads threads, $rounds rounds, alternating"
: >"$out/engine.txt"
: >"$out/llama.txt"
go test -c -o "$out/engine.test" ./engine
for _ in $(seq "$rounds"); do
  "build/llama/${BACKEND:-cpu}/bin/llama-bench" -m "$model" -t "$threads" -fa 1 -p 256 -n 64 -r 1 -o jsonl 2>/dev/null >>"$out/llama.txt"
  BENCH_MODEL=$model BENCH_THREADS=$threads "$out/engine.test" -test.run '^$' -test.bench 'Decode|Prefill' -test.benchtime 1x >>"$out/engine.txt"
done
python3 scripts/bench_ratio.py "$out/llama.txt" "$out/engine.txt"

bash scripts/bench_graph.sh

MODEL=$model bash scripts/bench_peers.sh
