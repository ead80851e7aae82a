# Shared by the set-up scripts: messages on stderr, tool checks, checksums.
# shellcheck shell=bash

say() { printf '==> %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# need TOOL HINT: ends with one clear line when a program is missing.
need() {
  command -v "$1" >/dev/null 2>&1 || die "$1 is not installed; $2"
}

# sha_of 256|512 FILE: prints the hex digest.
sha_of() {
  if command -v "sha$1sum" >/dev/null 2>&1; then
    "sha$1sum" "$2" | cut -d' ' -f1
  else
    shasum -a "$1" "$2" | cut -d' ' -f1
  fi
}

# lock NAME: waits until no other set-up works on the same thing (mkdir is atomic everywhere).
# A lock whose owner is gone is taken over.
lock() {
  local dir="build/.lock-$1" owner
  mkdir -p build
  until mkdir "$dir" 2>/dev/null; do
    owner=$(cat "$dir/pid" 2>/dev/null || true)
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
      rm -rf "$dir"
      continue
    fi
    say "waiting for another set-up of $1 (process ${owner:-unknown})"
    sleep 2
  done
  echo $$ >"$dir/pid"
  # shellcheck disable=SC2064 # the path is meant to be fixed now
  trap "rm -rf '$dir'" EXIT
}
