// Runs the README's first requests as a reader would paste them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADDRESS, block, compilePython, run, sameCompletion, shell } from './blocks.mjs'
import { ROOT, startGateway } from './gateway.mjs'

const gateway = await startGateway()
const key = await gateway.key(await gateway.project(), { environment: 'development' })
const readme = (language, containing) => block('README.md', language, containing)

test('curl returns the response that the README shows', async () => {
  const command = readme('sh', '/v1/chat/completions').replace(/^export KEY=.*\n/, '')
  const output = await shell(command.replaceAll(ADDRESS, gateway.url), { KEY: key })
  sameCompletion(JSON.parse(output), JSON.parse(readme('json', 'chat.completion')))
})

test('the JavaScript program prints the text that its comment shows', async () => {
  const program = readme('js', "from 'openai'")
  const text = program.replaceAll(ADDRESS, gateway.url)
  const env = { ...process.env, KEY: key }
  const { stdout } = await run('node', ['--input-type=module', '-e', text], { cwd: ROOT, env })
  assert.equal(stdout.trim(), /console\.log.* \/\/ (.*)$/m.exec(program)[1])
})

test('the Python program compiles, and is the same request', async () => {
  const program = readme('python', 'from openai')
  await compilePython(program)
  for (const text of [`${ADDRESS}/v1`, 'gpt-4.1-mini', 'Hello!']) {
    assert.ok(program.includes(text) && readme('js', "from 'openai'").includes(text), text)
  }
})
