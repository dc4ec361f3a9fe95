// The README's first requests, as a reader pastes them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT, startGateway } from './gateway.mjs'

const run = promisify(execFile)
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const gateway = await startGateway()
const key = await gateway.key(await gateway.project(), { environment: 'development' })

/** The first code block in a language that contains a text. */
function block(language, containing) {
  const blocks = [...readme.matchAll(/```(\w+)\n(.*?)```/gs)]
  const found = blocks.find(([, name, text]) => name === language && text.includes(containing))
  assert.ok(found, `README.md has no ${language} block with ${containing}`)
  return found[2]
}

/** The shape of a JSON value: member names and types. */
function shape(value) {
  if (Array.isArray(value)) return value.map(shape)
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shape(member)]))
}

test('curl returns the response that the README shows', async () => {
  const command = block('sh', '/v1/chat/completions').replace(/^KEY=.*\n/, '')
  const { stdout } = await run('bash', ['-c', command.replaceAll('http://127.0.0.1:8787', gateway.url)], {
    env: { ...process.env, KEY: key },
  })
  const [shown, actual] = [JSON.parse(block('json', 'chat.completion')), JSON.parse(stdout)]
  assert.deepEqual(shape(actual), shape(shown))
  assert.deepEqual(actual.choices, shown.choices)
  assert.deepEqual(actual.usage, shown.usage)
})

test('the JavaScript program prints the text that its comment shows', async () => {
  const program = block('js', "from 'openai'")
  const text = program.replaceAll('http://127.0.0.1:8787', gateway.url).replace('sk_test_…', key)
  const { stdout } = await run('node', ['--input-type=module', '-e', text], { cwd: ROOT })
  assert.equal(stdout.trim(), /\/\/ (.*)$/m.exec(program)[1])
})

test('the check of a text returns the response that the README shows', async () => {
  const governed = await gateway.key(await gateway.project({ plan: 'developer' }), { environment: 'development' })
  const command = block('sh', '/api/governor/validate').replaceAll('http://127.0.0.1:8787', gateway.url)
  const { stdout } = await run('bash', ['-c', command], { env: { ...process.env, KEY: governed } })
  const [shown, actual] = [JSON.parse(block('json', '"approved"')), JSON.parse(stdout)]
  assert.deepEqual(shape(actual), shape(shown))
  assert.deepEqual({ ...actual, policyVersion: 0, requestId: '' }, { ...shown, policyVersion: 0, requestId: '' })
})
