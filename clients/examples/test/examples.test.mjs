// Installs and runs the programs of docs/clients/frameworks.md against the real gateway, as a reader would.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { picture, startGateway } from '../../../test/sdk/gateway.mjs'
import { FILES, follow, PROGRAMS } from './page.mjs'

const gateway = await startGateway()
const project = await gateway.project()
const development = await gateway.key(project, { environment: 'development' })
const production = await gateway.key(project)
const empty = await gateway.key(await gateway.project({ budget: 0 }))

const TEST_MODE = "This is Postern's test mode. You said: "
const STREAMED = 'Hello from upstream'
const AI_SDK = 'Vercel AI SDK'
// Each program's section, its output with a development key and with a production key, and its arguments.
const OUTPUTS = {
  'ai-sdk.mjs': [
    AI_SDK,
    `${TEST_MODE}Say this is a test\ngpt-4.1-mini, req_ID\n`,
    `${STREAMED}\ngpt-4.1-mini, req_ID\n`,
  ],
  'ai-sdk-errors.mjs': [AI_SDK, `${TEST_MODE}Say this is a test 0\n`, `${STREAMED} 0.012\n`],
  'ai-sdk-images.mjs': [
    AI_SDK,
    `${TEST_MODE}[image]\n`,
    'I see an image (image/png, 8 bytes)\n',
    `data:image/png;base64,${picture}`,
  ],
  'langchain.mjs': [
    'LangChain',
    `${TEST_MODE}Say this is a test\n20 tokens, 0 cents\nweather\ntrue\n`,
    `${STREAMED}\n150 tokens, 0.012 cents\nweather\ntrue\n`,
  ],
  'llamaindex.mjs': ['LlamaIndex', `${TEST_MODE}Say this is a test\ntrue\n`, `${STREAMED}\ntrue\n`],
  'mastra.mjs': ['Mastra', `${TEST_MODE}21 degrees in text\n`, 'The tool said: 21 degrees in Paris\n'],
  'openai-agents.mjs': [
    'OpenAI Agents SDK',
    `${TEST_MODE}21 degrees in text\n`,
    'The tool said: 21 degrees in Paris\n',
  ],
}
const BROWSER = 'A chat in the browser'
const GO = "OpenAI's libraries for Go and Python"

const folders = new Map()
for (const title of new Set([...Object.values(OUTPUTS).map(([section]) => section), BROWSER, GO])) {
  folders.set(title, follow(title))
}
// If a command fails, the tests that need its folder fail.
for (const folder of folders.values()) folder.catch(() => {})

async function run(title, command, args, key) {
  const variables = { POSTERN_API_KEY: key, POSTERN_BASE_URL: gateway.url, MASTRA_TELEMETRY_DISABLED: '1' }
  const env = { ...process.env, ...variables, GOFLAGS: '' }
  const { stdout } = await promisify(execFile)(command, args, { cwd: await folders.get(title), env })
  return stdout.replace(/req_[0-9a-f]{32}/g, 'req_ID')
}

for (const [name, [title, inTestMode, fromProvider, ...args]] of Object.entries(OUTPUTS)) {
  test(`${name} with a development key`, async () => {
    assert.equal(await run(title, 'node', [name, ...args], development), inTestMode)
  })
  test(`${name} with a production key`, async () => {
    assert.equal(await run(title, 'node', [name, ...args], production), fromProvider)
  })
}

test('ai-sdk-errors.mjs prints the code of an error', async () => {
  assert.match(await run(AI_SDK, 'node', ['ai-sdk-errors.mjs'], empty), /^budget_exceeded req_ID \[\]\n$/)
})

test("Go's OpenAI library", async () => {
  assert.equal(await run(GO, 'go', ['run', '.'], development), `${TEST_MODE}Say this is a test\n`)
  assert.equal(await run(GO, 'go', ['run', '.'], production), `${STREAMED}\n`)
})

// The page fetches from the site's own address, where each of the handlers runs in turn.
const SITE = `
import { once } from 'node:events'
import { app } from './express.mjs'
import hono from './hono.mjs'
import { POST } from './nextjs-route.mjs'
import { ask } from './page.mjs'

const network = globalThis.fetch
const server = app.listen(0)
await once(server, 'listening')
const express = (request) => network(new Request('http://127.0.0.1:' + server.address().port + '/api/chat', request))
for (const [name, handler] of Object.entries({ hono: hono.fetch, nextjs: POST, express })) {
  globalThis.fetch = (url, init) => {
    if (url !== '/api/chat') return network(url, init)
    const headers = new Headers(init.headers)
    headers.set('cookie', 'session=demo')
    return handler(new Request('http://site.example/api/chat', { ...init, headers }))
  }
  process.stdout.write(name + ': ')
  await ask('Say this is a test', { append: (text) => process.stdout.write(text) })
  console.log()
}
server.close()
server.closeAllConnections()
`

test('the handlers and the page', async () => {
  writeFileSync(join(await folders.get(BROWSER), 'site.mjs'), SITE)
  const lines = ['hono', 'nextjs', 'express']
  for (const [key, answer] of [
    [development, `${TEST_MODE}Say this is a test`],
    [production, STREAMED],
    [empty, 'That failed (req_ID).'],
  ]) {
    const printed = await run(BROWSER, 'node', ['site.mjs'], key)
    assert.equal(printed, lines.map((name) => `${name}: ${answer}\n`).join(''))
  }
})

test('each program of the page is an example, and each example is on the page', () => {
  const files = Object.values(FILES)
  assert.ok(files.length >= 12)
  for (const { code } of PROGRAMS) assert.ok(files.includes(code), `not an example:\n${code}`)
  for (const [name, code] of Object.entries(FILES)) {
    assert.ok(
      PROGRAMS.some((block) => block.code === code),
      `${name} is not on the page, or differs`,
    )
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
