#!/usr/bin/env bash
# Installs what this program is measured beside, in the versions that benchmark/peers names, under build/peers.
#
#   scripts/peers.sh langgraph          LangGraph, beside which graph is measured
#   scripts/peers.sh llama-cpp-python   llama-cpp-python (compiled, about 5 minutes on 2 cores) and LangGraph
#   scripts/peers.sh node-llama-cpp     node-llama-cpp with its own build of llama.cpp, and LangGraph
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

peer=${1:?which peer}
dir=build/peers/$peer

python_peer() { # REQUIREMENTS
  need python3 "install Python 3.10 or newer to measure beside $peer"
  if cmp -s "$1" "$dir/installed.txt"; then return; fi
  lock peers
  say "installing $peer in $dir"
  rm -rf "$dir"
  mkdir -p build/peers
  python3 -m venv "$dir" || die 'python3 has no venv module; install it (python3-venv on Debian)'
  "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$1" || die "installing $1 failed; see above"
  cp "$1" "$dir/installed.txt"
}

node_peer() { # PACKAGE_JSON
  need node "install Node.js 20 or newer to measure beside $peer"
  need npm "install npm to measure beside $peer"
  if cmp -s "$1" "$dir/installed.json"; then return; fi
  # Of the builds that the package has for each machine and back end, only that for this machine's processor is wanted.
  local build
  build=@node-llama-cpp/$(node -p '({darwin: {arm64: "mac-arm64-metal", x64: "mac-x64"}, linux: {arm64: "linux-arm64", x64: "linux-x64"}})[process.platform]?.[process.arch] ?? ""')
  [ "$build" != @node-llama-cpp/ ] || die "$peer has no build for this machine"
  build=$build@$(node -p 'require(process.argv[1]).dependencies["node-llama-cpp"]' "$PWD/$1")
  lock peers
  say "installing $peer in $dir"
  rm -rf "$dir"
  mkdir -p "$dir"
  cp "$1" "$dir/package.json"
  (cd "$dir" && npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --omit=optional "$build") ||
    die "installing $1 failed; see above"
  cp "$1" "$dir/installed.json"
}

case $peer in
  langgraph) python_peer benchmark/peers/langgraph/requirements.txt ;;
  llama-cpp-python)
    need c++ "install a C++17 compiler to measure beside $peer"
    # As the engine is built: for this machine's processor, with threads of its own, and without what only images need.
    export CMAKE_ARGS="${CMAKE_ARGS:--DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DMTMD_BUILD=OFF -DLLAVA_BUILD=OFF}"
    python_peer benchmark/peers/agents/requirements.txt
    ;;
  node-llama-cpp) node_peer benchmark/peers/agents/package.json ;;
  *) die "there is no peer $peer; use langgraph, llama-cpp-python or node-llama-cpp" ;;
esac
