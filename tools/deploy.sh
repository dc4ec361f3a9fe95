#!/usr/bin/env bash
# Deploys both Workers to the account that wrangler is signed in to. May be run again at any time.
#
# The two refer to each other: the control Worker to the gateway's objects, the gateway to the control
# Worker's service. So where there is no control Worker yet, the gateway goes first without that binding.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! wrangler deployments list --name postern-control >/dev/null 2>&1; then
  echo 'deploy: the first time: the gateway alone, then the control Worker, then both are bound'
  # Beside wrangler.toml, because its paths are relative to it; the table ends at the next empty line.
  trap 'rm -f wrangler.first.toml' EXIT
  sed '/^\[\[services\]\]/,/^$/d' wrangler.toml >wrangler.first.toml
  wrangler deploy -c wrangler.first.toml
fi
wrangler deploy -c worker/control/wrangler.toml
wrangler deploy

cat <<'END'
deployed. The secrets, if this was the first time:
  wrangler secret put OPENAI_API_KEY
  wrangler secret put POSTERN_ADMIN_TOKEN -c worker/control/wrangler.toml
END
