#!/usr/bin/env bash
# Checks the source: gofmt, go vet, golangci-lint (staticcheck and the linters of .golangci.yml) and shellcheck.
#
#   scripts/lint.sh [PACKAGES]   the Go packages to check (default ./...)
#
# golangci-lint is compiled once into build/tools (about a minute on 2 cores) and is no dependency of the module.
# Without a built llama.cpp the cgo files of engine/llama are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

GOLANGCI_VERSION=v2.15.0
linter=$PWD/build/tools/golangci-lint-$GOLANGCI_VERSION

need go "install Go (the version is in go.mod)"
# A clone that belongs to another user must not stop the linters.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then packages=(./...); fi

failed=0
check() { # NAME COMMAND...: goes on after a failure, so that one run shows everything
  local name=$1
  shift
  say "$name"
  "$@" || failed=1
}

go_files() { git -c 'safe.directory=*' ls-files -co --exclude-standard -- '*.go' | while read -r f; do if [ -f "$f" ]; then echo "$f"; fi; done; }
shell_files() {
  git -c 'safe.directory=*' ls-files -co --exclude-standard | while read -r f; do
    if [ -f "$f" ] && { [[ $f == *.sh ]] || head -n 1 -- "$f" 2>/dev/null | tr -d '\0' | grep -qE '^#!.*\b(ba)?sh\b'; }; then echo "$f"; fi
  done
}

check_format() {
  local list
  list=$(go_files | tr '\n' '\0' | xargs -0 -r gofmt -l) || return 1
  if [ -n "$list" ]; then
    printf 'not formatted (run gofmt -w on them):\n%s\n' "$list" >&2
    return 1
  fi
}

install_linter() {
  if [ -x "$linter" ]; then return; fi
  say "compiling golangci-lint $GOLANGCI_VERSION (once)"
  mkdir -p build/tools
  local dir
  dir=$(mktemp -d build/tools/install.XXXXXX)
  # Outside the module, and without cgo: a C compiler is not needed for linting.
  if (cd "$dir" && GOBIN=$PWD GOFLAGS='' CGO_ENABLED=0 go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$GOLANGCI_VERSION"); then
    mv "$dir/golangci-lint" "$linter"
  else
    rm -rf "$dir"
    die "golangci-lint $GOLANGCI_VERSION did not build; check the Go module proxy setting (go env GOPROXY)"
  fi
  rm -rf "$dir"
}

check_shell() {
  if ! command -v shellcheck >/dev/null 2>&1; then
    say "shellcheck is not installed: shell scripts are not checked (Debian: apt-get install shellcheck)"
    return
  fi
  shell_files | tr '\n' '\0' | xargs -0 -r shellcheck --external-sources
}

if [ ! -f build/llama/cpu/stamp ]; then
  say "llama.cpp is not built: engine/llama is checked without its cgo files"
  export CGO_ENABLED=0
fi

check gofmt check_format
check "go vet" go vet "${packages[@]}"
install_linter
check golangci-lint "$linter" run "${packages[@]}"
check shellcheck check_shell
if [ $failed -ne 0 ]; then die "lint found problems; they are listed above"; fi
say "lint passed"
