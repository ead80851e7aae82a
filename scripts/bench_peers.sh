#!/usr/bin/env bash
# Measures llama-agent beside three other agents on the same model file, in one run: llama-cpp-python with LangGraph, llama.cpp's own
# server with a client, and node-llama-cpp with LangGraph. Each works in two layouts; see benchmark/peers. A peer that cannot be
# installed is left out. Run it on an idle machine; with the defaults it takes about 25 minutes on 2 cores.
#
#   MODEL         the model file
#   PEERS_CASES   cases of the suite r0_full, with commas between
#   PEERS_ROUNDS  how often each system does each of them
#   PEERS_CTX     context in tokens
#   PEERS_LIMIT   time for one task
#   THREADS       of each system
#
# What came of each task is in build/bench/peers/results.jsonl, what the peers say in peers.log beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

model=$(realpath "${MODEL:?set MODEL to a GGUF file}")
out=build/bench/peers
agents=benchmark/peers/agents
mkdir -p "$out/tmp"
export TMPDIR=$PWD/$out/tmp # on a disk, which the default often is not

peers=()
without() { say "without $1: it can't be installed; see above"; }
if bash scripts/peers.sh llama-cpp-python; then
  peers+=(-llama-cpp-python build/peers/llama-cpp-python/bin/python)
else
  without llama-cpp-python
fi
if (need python3 'install Python 3.10 or newer to measure beside llama-server') && LLAMA_SERVER=1 bash scripts/llama.sh; then
  peers+=(-llama-server "build/llama/${BACKEND:-cpu}/bin/llama-server")
else
  without llama-server
fi
if bash scripts/peers.sh node-llama-cpp; then
  # Its modules find their packages in the folder that they lie in.
  cp "$agents"/*.mjs "$agents/roles.json" build/peers/node-llama-cpp/
  peers+=(-node-llama-cpp build/peers/node-llama-cpp/node_llama_cpp.mjs)
else
  without node-llama-cpp
fi

CGO_ENABLED=0 go build -o "$out/measure" ./benchmark/peers
"$out/measure" -model "$model" -out "$out" -cases "${PEERS_CASES:-w1_file,w2_sqlite,w5_incident}" -rounds "${PEERS_ROUNDS:-1}" \
  -limit "${PEERS_LIMIT:-10m}" -ctx "${PEERS_CTX:-16384}" -threads "${THREADS:-$(getconf _NPROCESSORS_ONLN)}" "${peers[@]}" | tee "$out/table.md"
