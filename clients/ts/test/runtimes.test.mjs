// The table of behaviors in the other supported runtimes: Node 20, Deno and Bun, which `tools/setup.sh clients`
// installs. It also runs as CommonJS.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startServer } from './server.mjs'

const server = await startServer()
const runtimes = join(import.meta.dirname, '../../../.tools/runtimes')
const script = join(import.meta.dirname, 'run-table.mjs')

/** Each runtime with its command and the version that it must print. */
const RUNTIMES = [
  ['Node 20', [join(runtimes, 'node20')], /^v20\./, '../dist/index.js'],
  ['this Node, CommonJS', [process.execPath], /^v/, '../dist/cjs/index.cjs'],
  ['Deno', [join(runtimes, 'deno'), 'run', '-A'], /^deno 2\./, '../dist/index.js'],
  ['Bun', [join(runtimes, 'bun'), 'run'], /^1\./, '../dist/index.js'],
]

async function output(command, ...args) {
  return (await promisify(execFile)(command[0], [...command.slice(1), ...args])).stdout
}

for (const [name, command, version, module] of RUNTIMES) {
  test(`${name}: the table of behaviors, and webhooks`, async () => {
    assert.ok(existsSync(command[0]), 'run tools/setup.sh clients')
    assert.match(await output([command[0]], '--version'), version)
    const { cases, webhooks, failures } = JSON.parse(await output(command, script, server, module))
    assert.ok(cases >= 300 && webhooks >= 30)
    assert.deepEqual(failures, {})
  })
}

test('Deno: denied variables count as unset', async () => {
  const program = `
    import { Postern } from '${import.meta.resolve('../dist/index.js')}'
    console.log(new Postern({ apiKey: 'sk_test_a' }).baseURL)
    try { new Postern() } catch (error) { console.log(error.name) }`
  const file = `data:application/javascript,${encodeURIComponent(program)}`
  const deno = [join(runtimes, 'deno'), 'run', '--no-prompt']
  assert.equal(await output(deno, file), 'http://127.0.0.1:8787\nConfigurationError\n')
})
