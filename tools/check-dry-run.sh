#!/usr/bin/env bash
# Dry-runs every deployment of tools/deploy.sh, including the gateway's first one. Run build.sh first. The gateway's
# bundle stays in build/gateway.
set -euo pipefail
cd "$(dirname "$0")/.."

dry_run() { # NAME OPTION...
  local log=build/$1.log
  shift
  wrangler deploy --dry-run "$@" >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    echo "check-dry-run: wrangler deploy $* would fail" >&2
    exit 1
  }
}

trap 'rm -f wrangler.first.toml' EXIT
tools/first-config.sh >wrangler.first.toml
dry_run gateway --outdir build/gateway
dry_run control -c worker/control/wrangler.toml
dry_run first -c wrangler.first.toml

# The first deployment must have every binding except CONTROL.
bindings() { grep -o 'env\.[A-Z_]*' "build/$1.log" | sort -u; }
[ "$(bindings gateway)" = "$(printf '%s\n' "$(bindings first)" env.CONTROL | sort)" ] || {
  echo 'check-dry-run: the first deployment must have every binding of the gateway except CONTROL' >&2
  exit 1
}
