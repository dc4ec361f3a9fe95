// tools/deploy.sh with a fake wrangler: its calls, their order and the result.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')

// Records its calls and the KV bindings of each deployment. Deployed Workers exist in later calls. Files in the
// folder make it fail: signed-out, no-kv-list and fail-<n>, where n is the number of the deployment.
const WRANGLER = `#!/usr/bin/env bash
cd "$(dirname "$0")"
echo "$*" >>calls
fail() { printf '\\033[31m✘ [ERROR]\\033[0m A request to the API failed.\\n\\n  %s\\n' "$1" >&2; exit 1; }
case "$1 $2" in
  'deployments list')
    [ -e signed-out ] && fail 'Authentication error [code: 10000]'
    [ -e "worker-$4" ] || fail "$(printf 'This Worker does not exist on your account. [code:\\n  10007]')" ;;
  'kv namespace')
    [ -e no-kv-list ] && fail 'Authentication error [code: 10000]'
    cat namespaces ;;
  'deploy -c' | 'deploy ')
    config=../\${3:-wrangler.toml}
    n=$(grep -c '^deploy -c\\|^deploy$' calls)
    [ -e "fail-$n" ] && fail 'no such class'
    name=$(sed -n 's/^name = "\\(postern.*\\)"/\\1/p' "$config" | head -n 1)
    [ "$name" != postern-control ] || [ -e worker-postern ] || fail 'no such class'
    ! grep -q '^service = "postern-control"' "$config" || [ -e worker-postern-control ] || fail 'no such service'
    sed -n 's/^id = /  id /p' "$config" >>calls
    touch "worker-$name" ;;
  *) fail "unexpected call: $*" ;;
esac
`

let folder
const at = (...names) => join(folder, ...names)
const stub = (name, content = '') => writeFileSync(at('stub', name), content)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-deploy-'))
  for (const file of ['tools/deploy.sh', 'tools/first-config.sh', 'wrangler.toml', 'worker/control/wrangler.toml']) {
    cpSync(join(root, file), at(file))
  }
  mkdirSync(at('stub'))
  writeFileSync(at('stub/wrangler'), WRANGLER, { mode: 0o755 })
  stub('namespaces', JSON.stringify([{ id: 'other', title: 'postern-kv-2' }], null, 2))
})

afterEach(() => rmSync(folder, { recursive: true }))

// Runs tools/deploy.sh once. calls are the wrangler calls of this run.
function deploy() {
  stub('calls')
  const env = { ...process.env, PATH: `${at('stub')}:${process.env.PATH}` }
  const { status, stdout, stderr } = spawnSync(at('tools/deploy.sh'), { env, encoding: 'utf8' })
  assert.ok(!existsSync(at('wrangler.first.toml')), 'the generated configuration was not removed')
  return { status, stdout, stderr, calls: readFileSync(at('stub/calls'), 'utf8').trimEnd().split('\n') }
}

const LOOK = ['deployments list --name postern-control', 'deployments list --name postern']
const FIRST = 'deploy -c wrangler.first.toml'
const CONTROL = 'deploy -c worker/control/wrangler.toml'

test('first run: the gateway without its binding, the control Worker, the gateway with its binding', () => {
  const { status, calls, stdout } = deploy()
  assert.deepEqual(calls, [LOOK[0], LOOK[1], 'kv namespace list', FIRST, CONTROL, 'deploy'])
  assert.equal(status, 0)
  assert.match(stdout, /POSTERN_ADMIN_TOKEN/)
})

test('later runs: the gateway, then the control Worker', () => {
  deploy()
  for (const time of ['second', 'third']) {
    const { status, calls } = deploy()
    assert.deepEqual(calls, [...LOOK, 'deploy', CONTROL], time)
    assert.equal(status, 0)
  }
})

test('not signed in: nothing is deployed, and the error names the remedy', () => {
  stub('signed-out')
  const { status, calls, stdout, stderr } = deploy()
  assert.deepEqual(calls, [LOOK[0]])
  assert.equal(status, 1)
  assert.match(stderr, /Authentication error/)
  assert.match(stderr, /nothing was deployed[\s\S]*wrangler login[\s\S]*CLOUDFLARE_API_TOKEN/)
  assert.doesNotMatch(stdout, /deployed\./)
})

test('the first deployment fails: no further deployment', () => {
  stub('fail-1')
  const { status, calls, stderr } = deploy()
  assert.deepEqual(calls.at(-1), FIRST)
  assert.equal(status, 1)
  assert.match(stderr, /the gateway, without its binding to the control Worker: failed/)
})

test('the control Worker fails in the first run: the run stops, and the next run repeats all steps', () => {
  stub('fail-2')
  const first = deploy()
  assert.deepEqual(first.calls.slice(-2), [FIRST, CONTROL])
  assert.equal(first.status, 1)
  assert.match(first.stderr, /the control Worker: failed[\s\S]*make deploy/)
  assert.doesNotMatch(first.stdout, /deployed\./)
  rmSync(at('stub/fail-2'))
  const second = deploy()
  // The gateway exists now and keeps its namespace.
  assert.deepEqual(second.calls, [...LOOK, FIRST, CONTROL, 'deploy'])
  assert.equal(second.status, 0)
})

test('the binding fails in the first run: the next run adds it', () => {
  stub('fail-3')
  assert.equal(deploy().status, 1)
  rmSync(at('stub/fail-3'))
  const { status, calls } = deploy()
  assert.deepEqual(calls, [...LOOK, 'deploy', CONTROL])
  assert.equal(status, 0)
})

test('the second step of a later run fails: earlier steps remain, and the error says so', () => {
  deploy()
  stub('fail-2')
  const { status, calls, stderr } = deploy()
  assert.deepEqual(calls, [...LOOK, 'deploy', CONTROL])
  assert.equal(status, 1)
  assert.match(stderr, /Earlier steps took effect/)
})

test('the namespace of a failed deployment is reused', () => {
  stub(
    'namespaces',
    JSON.stringify(
      [
        { id: 'other', title: 'x' },
        { id: '00ff', title: 'postern-kv' },
      ],
      null,
      2,
    ),
  )
  const { status, calls } = deploy()
  assert.deepEqual(calls.slice(2), ['kv namespace list', FIRST, '  id "00ff"', CONTROL, 'deploy'])
  assert.equal(status, 0)
})

test('the namespaces cannot be listed: nothing is deployed', () => {
  stub('no-kv-list')
  const { status, calls, stderr } = deploy()
  assert.equal(calls.at(-1), 'kv namespace list')
  assert.equal(status, 1)
  assert.match(stderr, /nothing was deployed/)
})

test('a removed gateway is deployed again before the control Worker binds to it', () => {
  deploy()
  rmSync(at('stub/worker-postern'))
  const { status, calls } = deploy()
  assert.deepEqual(calls.slice(-3), [FIRST, CONTROL, 'deploy'])
  assert.equal(status, 0)
})
