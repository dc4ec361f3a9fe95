#!/usr/bin/env bash
# Deploys both Workers to the account of wrangler's login or of CLOUDFLARE_API_TOKEN. Safe to run again at any time,
# even after a failure. Secrets, and variables set in the Cloudflare dashboard, are kept.
#
# Each Worker binds to the other: the control Worker to the gateway's Durable Objects, and the gateway to the control
# Worker's service. Cloudflare rejects a binding to a Worker that does not exist. The first deployment therefore
# deploys the gateway without that binding, then the control Worker, then the gateway again. Later deployments also
# start with the gateway, because a new class of objects must exist before the control Worker can bind to it.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'deploy: %s\n' "$@" >&2
  exit 1
}

# exists WORKER: succeeds if the Worker was deployed before. Exits if wrangler cannot tell.
exists() {
  local said
  said=$(wrangler deployments list --name "$1" 2>&1 </dev/null) && return
  # The API's codes for an unknown Worker and an unknown service. Wrangler may wrap the line between any two words.
  [[ $said =~ code:[[:space:]]+(10007|10090) ]] && return 1
  printf '%s\n' "$said" >&2
  fail "nothing was deployed: wrangler could not check whether the Worker $1 exists (see above)." \
    "Not signed in? Run npx wrangler login, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID if there are several accounts."
}

# Prints the ID of the KV namespace that wrangler created for the gateway, if there is one. If the gateway is
# deployed, wrangler reuses its namespace. For a new gateway, wrangler creates a namespace. This fails if an
# interrupted first deployment left one behind.
kv_namespace() {
  local all
  all=$(wrangler kv namespace list </dev/null) || fail 'nothing was deployed: wrangler could not list the KV namespaces (see above).'
  node -e '
    const all = JSON.parse(process.argv[1])
    console.log(all.find(({ title }) => title === "postern-kv")?.id ?? "")
  ' "$all"
}

step() { # WHAT COMMAND...
  local what=$1
  shift
  echo "deploy: $what"
  "$@" || fail "$what: failed (see above). Earlier steps took effect. Fix the cause, then run make deploy again."
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
  # The file has to be in the same folder as wrangler.toml, because its paths are relative.
  trap 'rm -f wrangler.first.toml' EXIT
  tools/first-config.sh "$namespace" >wrangler.first.toml
  step 'the gateway, without its binding to the control Worker' wrangler deploy -c wrangler.first.toml
  step 'the control Worker' wrangler deploy -c worker/control/wrangler.toml
  step 'the gateway, with the binding' wrangler deploy
fi

cat <<'END'
Deployed. After the first deployment, set the secrets:
  export PATH="$PWD/.tools/bin:$PATH"                                            # wrangler needs Node 22.12; make may have installed it here
  npx wrangler secret put POSTERN_ADMIN_TOKEN -c worker/control/wrangler.toml    # create one with: openssl rand -base64 32
  npx wrangler secret put OPENAI_API_KEY                                         # one for each provider you use
docs/operate/cloudflare.md lists the optional ones.
END
