#!/usr/bin/env bash
# Measures the graph library beside LangGraph on this machine, in one run: the same graphs, the same synchronous levels,
# rounds of each in turn. Needs no model. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

out=build/bench
mkdir -p "$out/tmp"
export TMPDIR=$PWD/$out/tmp # on a disk, which the default often is not
rounds=${ROUNDS:-3}
times=${TIMES:-5}

python=build/peers/langgraph/bin/python
if bash scripts/peers.sh langgraph; then
  peer() { "$python" benchmark/peers/langgraph/bench.py "$@" >>"$out/langgraph.txt"; }
  say "graph beside LangGraph $("$python" -c 'import importlib.metadata as m; print(m.version("langgraph"))'), $rounds rounds of $times, alternating"
else
  peer() { :; }
  say "graph alone, $rounds rounds of $times: LangGraph can't be installed"
fi
CGO_ENABLED=0 go test -c -o "$out/graph.test" ./graph
: >"$out/graph.txt"
: >"$out/langgraph.txt"
for _ in $(seq "$rounds"); do
  "$out/graph.test" -test.run '^$' -test.bench 'Superstep|FanOut|Boundary|Disk|History' -test.benchtime "${times}x" >>"$out/graph.txt"
  "$out/graph.test" -test.run '^$' -test.bench 'ManyThreads' -test.benchtime 100x >>"$out/graph.txt"
  peer --times "$times" Superstep FanOut Boundary History
  peer --times 100 ManyThreads
done
# What is no time is the same each time.
"$out/graph.test" -test.run '^$' -test.bench 'FileSize|IdleThread' -test.benchtime 1x >>"$out/graph.txt"
peer FileSize IdleThread
python3 benchmark/peers/compare.py "$out/graph.txt" "$out/langgraph.txt" LangGraph
