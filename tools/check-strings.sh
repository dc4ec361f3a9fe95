#!/usr/bin/env bash
# What must not be in the repository: hosts of package registries, paths of one machine, test control in
# what is shipped.
set -euo pipefail
cd "$(dirname "$0")/.."
fail=0
if git grep -n -I -E 'proxy\.golang\.org|registry\.npmjs|deb\.debian|(^|[^a-z])/(root|home)/[a-z]' -- . ':!tools/check-strings.sh' ':!*.sum'; then
  echo 'check-strings: these lines name a package registry or a path of one machine' >&2
  fail=1
fi
if [ -e build/gateway/index.js ] && grep -q '__test' build/gateway/index.js; then
  echo 'check-strings: the shipped bundle holds the test control' >&2
  fail=1
fi
exit $fail
