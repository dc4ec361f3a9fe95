// Runs the commands and programs of docs/start and docs/guides as a reader would paste them.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ADDRESS, block, compilePython, run, shape, shell } from './blocks.mjs'
import { ROOT, startGateway } from './gateway.mjs'

const EXPECTED = "This is Postern's test mode. You said: Hello!"
const gateway = await startGateway()
const key = await gateway.key(await gateway.project(), { environment: 'development' })
const temporary = mkdtempSync(join(tmpdir(), 'postern-documents-'))
after(() => rmSync(temporary, { recursive: true }))

const here = (text) => text.replaceAll(ADDRESS, gateway.url)

test('the check of a text returns the response that the page of the Governor shows', async () => {
  const page = 'docs/guides/governor.md'
  const governed = await gateway.key(await gateway.project({ plan: 'developer' }), { environment: 'development' })
  const output = await shell(here(block(page, 'sh', '/api/governor/validate')), { KEY: governed })
  const [shown, actual] = [JSON.parse(block(page, 'json', '"approved"')), JSON.parse(output)]
  assert.deepEqual(shape(actual), shape(shown))
  assert.deepEqual({ ...actual, policyVersion: 0, requestId: '' }, { ...shown, policyVersion: 0, requestId: '' })
})

test('the quickstart for Cloudflare begins with the request of the README', () => {
  for (const [language, text] of [
    ['sh', 'gateway-key'],
    ['json', 'chat.completion'],
  ]) {
    assert.equal(block('docs/start/quickstart-cloudflare.md', language, text), block('README.md', language, text))
  }
})

describe('connect an application', () => {
  const page = (language, containing) => here(block('docs/start/connect.md', language, containing))
  const env = { ...process.env, POSTERN_API_KEY: key }

  test("curl, OpenAI's API", async () => {
    const output = await shell(page('sh', '/v1/chat/completions'), { POSTERN_API_KEY: key })
    assert.equal(JSON.parse(output).choices[0].message.content, EXPECTED)
  })

  test("curl, Anthropic's API", async () => {
    const output = await shell(page('sh', '/v1/messages'), { POSTERN_API_KEY: key })
    assert.equal(JSON.parse(output).content[0].text, EXPECTED)
  })

  for (const sdk of ['openai', '@anthropic-ai/sdk']) {
    test(`JavaScript, ${sdk}`, async () => {
      const program = page('ts', `from '${sdk}'`)
      const { stdout } = await run('node', ['--input-type=module', '-e', program], { cwd: ROOT, env })
      assert.equal(stdout.trim(), EXPECTED)
    })
  }

  test('a project key reads the usage', async () => {
    const project = await gateway.project({ plan: 'developer' })
    const reader = await gateway.key(project, { kind: 'project', environment: 'development' })
    const caller = await gateway.key(project, { environment: 'development' })
    for (let i = 0; i < 2; i++) await shell(page('sh', '/v1/chat/completions'), { POSTERN_API_KEY: caller })
    const command = page('sh', '/api/usage').replace('proj_…', project.id).replace('pk_test_…', reader)
    const [actual, shown] = [JSON.parse(await shell(command)), JSON.parse(page('json', '"promptCache"'))]
    assert.deepEqual({ ...actual, period: shown.period }, shown)
    assert.deepEqual(shape(actual.period), shape(shown.period))
  })

  test('Go', async () => {
    const file = join(temporary, 'main.go')
    writeFileSync(file, page('go', 'openai-go'))
    const { stdout } = await run('go', ['run', file], { cwd: ROOT, env })
    assert.equal(stdout.trim(), EXPECTED)
  })

  test('Python compiles', async () => {
    for (const sdk of ['openai', 'anthropic']) await compilePython(page('python', `from ${sdk} `))
  })
})
