#!/usr/bin/env bash
# Installs the libraries that graph is measured beside, in the versions that benchmark/peers names, under build/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

need python3 'install Python 3.10 or newer to measure beside LangGraph'
dir=build/peers/langgraph
pinned=benchmark/peers/langgraph/requirements.txt
if ! cmp -s "$pinned" "$dir/installed.txt"; then
  lock peers
  say "installing LangGraph in $dir"
  rm -rf "$dir"
  python3 -m venv "$dir" || die 'python3 has no venv module; install it (python3-venv on Debian)'
  "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$pinned" || die "installing $pinned failed; see above"
  cp "$pinned" "$dir/installed.txt"
fi
