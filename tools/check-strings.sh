#!/usr/bin/env bash
# Fails on strings that must not be in the repository (package registry hosts, paths specific to one machine) or in
# the shipped bundle (test hooks).
set -euo pipefail
cd "$(dirname "$0")/.."
fail=0
if git grep -n -I -E 'proxy\.golang\.org|registry\.npmjs|deb\.debian|(^|[^a-z])/(root|home)/[a-z]' -- . ':!tools/check-strings.sh' ':!*.sum'; then
  echo 'check-strings: the lines above name a package registry or a machine-specific path' >&2
  fail=1
fi
if [ -e build/gateway/index.js ] && grep -q '__test' build/gateway/index.js; then
  echo 'check-strings: build/gateway/index.js contains test hooks' >&2
  fail=1
fi
exit $fail
