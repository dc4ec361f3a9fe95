#!/usr/bin/env bash
# Compiles the control plane into build/control: app.wasm, its JavaScript glue and the static assets.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/build/control
new=$out.new # so that wrangler never watches the folder of a failed or unfinished build

go -C tools tool workers-assets-gen -mode=go -o "$new" # empties the folder
rm "$new/worker.mjs" "$new/runtime.mjs"                # entry.mjs replaces these
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$new/app.wasm" ./worker/control
node tools/pack-wasm.mjs "$new/app.wasm"
mkdir -p "$new/assets"
cp -r control/web/dist "$new/assets/dashboard"
rm "$new/assets/dashboard/.gitkeep"
cp docs/openapi.yaml "$new/assets"
rm -rf "$out"
mv "$new" "$out"
