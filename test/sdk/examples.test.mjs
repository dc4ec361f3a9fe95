// Runs the programs of docs/examples as in a checkout where `make dev` is running.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT, startGateway } from './gateway.mjs'

const EXPECTED = "This is Postern's test mode. You said: Say this is a test\n"
const COMPILED_ONLY = ['anthropic_messages.py', 'openai_chat.py'] // no Debian package has these SDKs

const gateway = await startGateway()
const key = await gateway.key(await gateway.project(), { environment: 'development' })
const temporary = mkdtempSync(join(tmpdir(), 'postern-examples-'))
after(() => rmSync(temporary, { recursive: true }))

/** Creates a checkout with the examples, and with .dev/keys.json if keys are given. Returns the path of the examples. */
function checkout(name, keys) {
  const root = join(temporary, name)
  const examples = join(root, 'docs/examples')
  cpSync(join(ROOT, 'docs/examples'), examples, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  if (keys !== undefined) {
    mkdirSync(join(root, '.dev'))
    writeFileSync(join(root, '.dev/keys.json'), JSON.stringify(keys))
  }
  return examples
}

const works = checkout('works', { baseUrl: gateway.url, gatewayKey: key })
const wrong = checkout('wrong', { baseUrl: 'http://127.0.0.1:1', gatewayKey: 'sk_test_wrong' })
const stopped = checkout('stopped')

/** Runs an example and returns its output. The environment has no Postern variables except the given ones. */
async function run(program, { cwd = temporary, ...variables } = {}) {
  const { POSTERN_BASE_URL, POSTERN_API_KEY, ...rest } = process.env
  const env = { ...rest, AI_SDK_LOG_WARNINGS: 'false', PYTHONDONTWRITEBYTECODE: '1', ...variables }
  const interpreter = program.endsWith('.py') ? 'python3' : 'node'
  return (await promisify(execFile)(interpreter, [program], { cwd, env })).stdout
}

const names = readdirSync(works).filter((name) => /\.(mjs|py)$/.test(name) && !name.startsWith('postern.'))
const runnable = names.filter((name) => !COMPILED_ONLY.includes(name))

test('python3 has httpx (tools/setup.sh python)', () => promisify(execFile)('python3', ['-c', 'import httpx']))

test('six programs run, two only compile', () => {
  assert.equal(runnable.length, 6)
  assert.equal(names.length, 8)
})

for (const name of runnable) {
  test(`${name} takes address and key from .dev/keys.json`, async () => {
    assert.equal(await run(join(works, name)), EXPECTED)
  })
}

for (const name of COMPILED_ONLY) {
  test(`${name} compiles`, () => promisify(execFile)('python3', ['-m', 'py_compile', join(works, name)]))
}

for (const name of ['openai.mjs', 'httpx_chat.py']) {
  test(`${name} searches the working directory after its own folder`, async () => {
    assert.equal(await run(join(stopped, name), { cwd: works }), EXPECTED)
    await assert.rejects(run(join(wrong, name), { cwd: works }))
  })

  test(`${name} prefers POSTERN_BASE_URL and POSTERN_API_KEY`, async () => {
    const variables = { POSTERN_BASE_URL: gateway.url, POSTERN_API_KEY: key }
    assert.equal(await run(join(wrong, name), variables), EXPECTED)
    assert.equal(await run(join(stopped, name), variables), EXPECTED)
  })

  test(`${name} says what to do without a gateway`, async () => {
    await assert.rejects(run(join(stopped, name)), ({ code, stderr }) => {
      assert.equal(stderr, 'Start the gateway with `make dev` first, or set POSTERN_BASE_URL and POSTERN_API_KEY.\n')
      return code === 1
    })
  })
}

for (const name of ['httpx_chat.py', 'httpx_messages.py']) {
  test(`${name} shows a rejected request`, async () => {
    const variables = { POSTERN_API_KEY: 'sk_test_wrong' }
    await assert.rejects(run(join(works, name), variables), ({ code, stderr }) => {
      assert.match(stderr, /^401: \{.*Invalid or inactive API key/)
      return code === 1
    })
  })
}
