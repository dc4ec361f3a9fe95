#!/usr/bin/env bash
# Compiles the control plane into build/control: app.wasm and the glue that belongs to it.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/build/control
new=$out.new # so that a failed or running build never leaves half a folder for wrangler to watch

go -C tools tool workers-assets-gen -mode=go -o "$new" # empties the folder
rm "$new/worker.mjs" "$new/runtime.mjs"                # entry.mjs stands for these
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$new/app.wasm" ./worker/control
rm -rf "$out"
mv "$new" "$out"
