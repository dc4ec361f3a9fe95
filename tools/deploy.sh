#!/usr/bin/env bash
# Deploys both Workers to the account that wrangler is signed in to, or that CLOUDFLARE_API_TOKEN is for. May be
# run again at any time; after a failure it goes on. Secrets, and variables set in the dashboard, are kept.
#
# The two refer to each other: the control Worker to the gateway's objects, the gateway to the control
# Worker's service, and a binding to what is not there is refused. So where one of them is missing, the
# gateway goes first without that binding. It goes first in any case: a new class of objects must be there
# before the control Worker can be bound to it.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'deploy: %s\n' "$@" >&2
  exit 1
}

# exists WORKER: whether it was ever deployed. If that cannot be told, this ends here, with nothing done.
exists() {
  local said
  said=$(wrangler deployments list --name "$1" 2>&1 </dev/null) && return
  # The API's codes for no such Worker and no such service. Wrangler may break lines between any two words.
  [[ $said =~ code:[[:space:]]+(10007|10090) ]] && return 1
  printf '%s\n' "$said" >&2
  fail "nothing was deployed, because wrangler could not tell whether the Worker $1 exists (see above)." \
    "Not signed in? Run npx wrangler login, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID if there are several accounts."
}

# The id of the namespace that wrangler once made for the gateway; nothing if there is none. Wrangler takes
# what the deployed gateway has, and otherwise makes one anew, which fails if it is there: a first deployment
# that broke off leaves it behind.
kv_namespace() {
  local all
  all=$(wrangler kv namespace list </dev/null) || fail 'nothing was deployed, because the KV namespaces could not be listed (see above).'
  node -e '
    const all = JSON.parse(process.argv[1])
    console.log(all.find(({ title }) => title === "postern-kv")?.id ?? "")
  ' "$all"
}

step() { # WHAT COMMAND...
  local what=$1
  shift
  echo "deploy: $what"
  "$@" || fail "$what: failed (see above). What was deployed before stands; make deploy goes on from there."
}

control=no gateway=no
exists postern-control && control=yes
exists postern && gateway=yes
if [ $control = yes ] && [ $gateway = yes ]; then
  step 'the gateway' wrangler deploy
  step 'the control Worker' wrangler deploy -c worker/control/wrangler.toml
else
  namespace=
  [ $gateway = yes ] || namespace=$(kv_namespace)
  # Beside wrangler.toml, because its paths are relative to it.
  trap 'rm -f wrangler.first.toml' EXIT
  tools/first-config.sh "$namespace" >wrangler.first.toml
  step 'the gateway, not bound to the control Worker yet' wrangler deploy -c wrangler.first.toml
  step 'the control Worker' wrangler deploy -c worker/control/wrangler.toml
  step 'the gateway, bound to it' wrangler deploy
fi

cat <<'END'
deployed. The secrets, once:
  npx wrangler secret put OPENAI_API_KEY                                         # providers' keys: the gateway's
  npx wrangler secret put POSTERN_ADMIN_TOKEN -c worker/control/wrangler.toml    # POSTERN_VIEWER_TOKEN, optional, too
  npx wrangler secret put POSTERN_MASTER_KEYS                                    # optional: projects' own provider keys;
  npx wrangler secret put POSTERN_MASTER_KEYS -c worker/control/wrangler.toml    # the same on both
END
