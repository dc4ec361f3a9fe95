#!/usr/bin/env bash
# Builds core.wasm with TinyGo, the dashboard, and the control Worker with standard Go.
#   build.sh [all|catalog|core|panic|postern|docs]     catalog: only the compiled catalog; core: only core.wasm; panic: core.wasm
#   with a switch that traps, for tests; postern: core.wasm, the dashboard, and the static binary OUT, by default
#   build/postern, for GOOS and GOARCH, with the version VERSION; docs: the documentation site, build/docs
set -euo pipefail
cd "$(dirname "$0")"
export PATH="$PWD/.tools/bin:$PWD/node_modules/.bin:$PATH"

# Limits of the modules, gzipped. Raising one needs its reason in docs/project/decisions/build-and-release.md.
CORE_LIMIT_BYTES=757000
CONTROL_LIMIT_BYTES=2730000

# newer FILE DIR...: succeeds if FILE is newer than every file in the DIRs but those of tests, so no build is needed.
newer() {
  local file=$1
  shift
  [ -e "$file" ] && [ -z "$(find "$@" -newer "$file" -type f ! -name '*_test.go' ! -path '*/testdata/*' -print -quit)" ]
}

# catalog_build compiles the catalog. The result is committed, because Go programs embed it.
catalog_build() {
  newer core/catalog/catalog.bin core/catalog/catalog.json core/config core/abi internal/compilecatalog || go generate ./core/catalog
}

tinygo_build() { # OUT [FLAG...]
  local out=$1
  shift
  newer "$out" core go.mod build.sh tools/target.json tools/strip-names.mjs tools/core.work tools/pretty && return
  mkdir -p build
  # The workspace has what takes the place of packages that only unused functions of gjson need.
  GOWORK=$PWD/tools/core.work tinygo build -target tools/target.json -opt=2 -no-debug -panic=trap -gc=leaking "$@" -o "$out.new" ./core/wasm
  # TinyGo optimizes for speed; folding and merging the rest costs no speed (docs/project/decisions/build-and-release.md).
  # The stack comes first in memory, so no pointer is below 1,024, and constants can be folded into offsets.
  wasm-opt -Os --low-memory-unused --optimize-added-constants -Os --enable-bulk-memory --enable-mutable-globals \
    --enable-nontrapping-float-to-int --enable-sign-ext "$out.new" -o "$out.new"
  node tools/strip-names.mjs "$out.new"
  node tools/check-wasm.mjs "$out.new"
  node tools/check-size.mjs "$out.new" "$CORE_LIMIT_BYTES"
  mv "$out.new" "$out"
}

dashboard_build() {
  newer control/web/dist/index.html control/web/src tools/web.mjs package.json || node tools/web.mjs
}

# docs_build builds the documentation site. site/build.mjs writes some folders of site/ itself, which are no sources. A folder
# of docs/ is newer if a document was removed from it.
docs_build() {
  [ -e build/docs.json ] && [ -z "$(find docs -newer build/docs.json -type d -print -quit)" ] && newer build/docs.json docs site/*.mjs site/src/components site/src/styles site/src/*.* site/package-lock.json \
    control/web/src/favicon.svg ./*.md || node site/build.mjs
}

# postern_build builds the self-hosted server with the dashboard, the documentation and core.wasm in it. Tags of the client
# libraries do not count as versions.
postern_build() {
  local out=${OUT:-build/postern}
  local version=${VERSION:-$(git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || true)}
  cp build/core.wasm server/corewasm/core.wasm
  CGO_ENABLED=0 go build -trimpath -tags wasm_engine -ldflags "-s -w -X main.version=$version" -o "$out" ./cmd/postern
  node tools/check-static.mjs "$out"
}

case "${1:-all}" in
  catalog) catalog_build ;;
  core)
    catalog_build
    tinygo_build build/core.wasm
    ;;
  panic)
    catalog_build
    tinygo_build build/core-panic.wasm -tags panicswitch
    ;;
  postern)
    catalog_build
    tinygo_build build/core.wasm
    dashboard_build
    node tools/pack-docs.mjs control/web/docsite --gzip
    postern_build
    ;;
  docs) docs_build ;;
  all)
    catalog_build
    tinygo_build build/core.wasm
    dashboard_build
    newer build/control/app.wasm core control worker/control docs/openapi.yaml go.mod tools/pack-wasm.mjs || worker/control/build.sh "$CONTROL_LIMIT_BYTES"
    node tools/pack-docs.mjs build/control/assets
    ;;
  *)
    echo "usage: build.sh [all|catalog|core|panic|postern|docs]" >&2
    exit 1
    ;;
esac
