#!/usr/bin/env bash
# Prints the gateway's configuration without its binding to the control Worker, for the first deployment.
#   first-config.sh [ID]     ID of the KV namespace to bind; without it wrangler creates or reuses one
set -euo pipefail
cd "$(dirname "$0")/.."

# A TOML table ends at the next empty line.
awk -v id="${1:-}" '
  /^\[\[services\]\]$/ { skip = 1 }
  /^$/ { skip = 0 }
  !skip { print }
  /^binding = "KV"$/ && id != "" { printf "id = \"%s\"\n", id }
' wrangler.toml
