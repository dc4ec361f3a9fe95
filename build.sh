#!/usr/bin/env bash
# Builds core.wasm with TinyGo, the dashboard, and the control Worker, which embeds the dashboard, with standard Go.
#   build.sh [all|core|panic]     core: only core.wasm; panic: core.wasm with a switch that traps, for tests
set -euo pipefail
cd "$(dirname "$0")"
export PATH="$PWD/.tools/bin:$PWD/node_modules/.bin:$PATH"

CORE_LIMIT_BYTES=620000 # gzip; raising it needs an entry in RATIONALE.md

# newer FILE DIR...: succeeds if FILE is newer than every file in the DIRs, so no build is needed.
newer() {
  local file=$1
  shift
  [ -e "$file" ] && [ -z "$(find "$@" -newer "$file" -type f ! -name '*_test.go' -print -quit)" ]
}

tinygo_build() { # OUT [FLAG...]
  local out=$1
  shift
  newer "$out" core go.mod tools/target.json && return
  mkdir -p build
  tinygo build -target tools/target.json -opt=2 -no-debug -panic=trap -gc=leaking "$@" -o "$out.new" ./core/wasm
  node tools/check-wasm.mjs "$out.new" "$CORE_LIMIT_BYTES"
  mv "$out.new" "$out"
}

case "${1:-all}" in
  core) tinygo_build build/core.wasm ;;
  panic) tinygo_build build/core-panic.wasm -tags panicswitch ;;
  all)
    tinygo_build build/core.wasm
    newer control/web/dist/index.html control/web/src tools/web.mjs package.json || node tools/web.mjs
    newer build/control/app.wasm core control worker/control docs/docs.go docs/openapi.yaml go.mod || worker/control/build.sh
    ;;
  *)
    echo "usage: build.sh [all|core|panic]" >&2
    exit 1
    ;;
esac
