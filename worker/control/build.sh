#!/usr/bin/env bash
# Builds the control plane in build/control: app.wasm, its JavaScript glue and the static assets.
#   build.sh LIMIT     the most bytes that app.wasm may have, gzipped
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/build/control
new=$out.new # so that wrangler never watches the folder of a failed or unfinished build

go -C tools tool workers-assets-gen -mode=go -o "$new" # empties the folder
rm "$new/worker.mjs" "$new/runtime.mjs"                # entry.mjs replaces these
# Without inlining in our own packages, the module is 4 % smaller.
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -gcflags='github.com/postern-ai/postern/...=-l' -o "$new/app.wasm" ./worker/control
node tools/pack-wasm.mjs "$new/app.wasm"
node tools/check-size.mjs "$new/app.wasm" "$1"
mkdir -p "$new/assets"
cp -r control/web/dist "$new/assets/dashboard"
rm "$new/assets/dashboard/.gitkeep"
cp docs/openapi.yaml "$new/assets"
rm -rf "$out"
mv "$new" "$out"
