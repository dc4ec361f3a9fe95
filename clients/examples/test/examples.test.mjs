// The examples of docs/clients/frameworks.md, run as they are there, against the real gateway.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT, startGateway } from '../../../test/sdk/gateway.mjs'

const folder = join(import.meta.dirname, '..')
const gateway = await startGateway()
const project = await gateway.project()
const development = await gateway.key(project, { environment: 'development' })
const production = await gateway.key(project)
const empty = await gateway.key(await gateway.project({ budget: 0 }))

const TEST_MODE = "This is Postern's test mode. You said: "
const STREAMED = 'Hello from upstream'
// Each program's output with a development key, and with a production key.
const PROGRAMS = {
  'ai-sdk.mjs': [`${TEST_MODE}Say this is a test\ngpt-4.1-mini, req_ID\n`, `${STREAMED}\ngpt-4.1-mini, req_ID\n`],
  'ai-sdk-errors.mjs': [`${TEST_MODE}Say this is a test 0\n`, `${STREAMED} 0.012\n`],
  'langchain.mjs': [
    `${TEST_MODE}Say this is a test\n20 tokens, 0 cents\nweather\ntrue\n`,
    `${STREAMED}\n150 tokens, 0.012 cents\nweather\ntrue\n`,
  ],
  'llamaindex.mjs': [`${TEST_MODE}Say this is a test\ntrue\n`, `${STREAMED}\ntrue\n`],
  'mastra.mjs': [`${TEST_MODE}21 degrees in text\n`, 'The tool said: 21 degrees in Paris\n'],
  'openai-agents.mjs': [`${TEST_MODE}21 degrees in text\n`, 'The tool said: 21 degrees in Paris\n'],
}

async function run(command, args, key, cwd = folder) {
  const variables = { POSTERN_API_KEY: key, POSTERN_BASE_URL: gateway.url, MASTRA_TELEMETRY_DISABLED: '1' }
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...variables } })
  return stdout.replace(/req_[0-9a-f]{32}/g, 'req_ID')
}

for (const [name, [inTestMode, fromProvider]] of Object.entries(PROGRAMS)) {
  test(`${name} with a development key`, async () => {
    assert.equal(await run('node', [name], development), inTestMode)
  })
  test(`${name} with a production key`, async () => {
    assert.equal(await run('node', [name], production), fromProvider)
  })
}

test('ai-sdk-errors.mjs prints the code of an error', async () => {
  assert.match(await run('node', ['ai-sdk-errors.mjs'], empty), /^budget_exceeded req_ID \[\]\n$/)
})

test("Go's OpenAI library", async () => {
  const go = join(folder, 'openai-go')
  assert.equal(await run('go', ['run', '.'], development, go), `${TEST_MODE}Say this is a test\n`)
  assert.equal(await run('go', ['run', '.'], production, go), `${STREAMED}\n`)
})

// The blocks of the page are these files, so what runs here is the text that a reader copies.
test('each example is on the page as it is here', () => {
  const page = readFileSync(join(ROOT, 'docs/clients/frameworks.md'), 'utf8')
  const blocks = [...page.matchAll(/```\w+\n(.*?)```/gs)].map(([, text]) => text)
  const files = readdirSync(folder).filter((name) => name.endsWith('.mjs'))
  assert.ok(files.length >= 10)
  for (const name of [...files, 'openai-go/main.go']) {
    assert.ok(blocks.includes(readFileSync(join(folder, name), 'utf8')), `${name} is not on the page, or differs`)
  }
})

test('the page shows the code of a failure without a request ID', async (t) => {
  const { ask } = await import('../page.mjs')
  const answers = [{ code: 'unauthorized' }, { code: 'provider_error', requestId: 'req_1' }, { code: 'rate_limited' }]
  const shown = []
  for (const answer of answers) {
    t.mock.method(globalThis, 'fetch', async () => Response.json(answer, { status: 400 }))
    await ask('Hello!', { append: (text) => shown.push(text) })
  }
  assert.deepEqual(shown, ['That failed (unauthorized).', 'That failed (req_1).', 'One moment, please.'])
})
