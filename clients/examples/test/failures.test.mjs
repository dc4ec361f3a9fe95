// Streams that fail in frameworks that know nothing about Postern. The tests check what each framework throws or
// emits for an error event from the gateway and for a broken connection.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { OpenAI } from '@llamaindex/openai'
import { Agent as MastraAgent } from '@mastra/core/agent'
import { Agent, OpenAIProvider, Runner } from '@openai/agents'
import { breaking } from '../../../test/clients/cut.mjs'
import { startGateway } from '../../../test/sdk/gateway.mjs'

process.env.MASTRA_TELEMETRY_DISABLED = '1'
const gateway = await startGateway()
const apiKey = await gateway.key(await gateway.project({ cache: 'off' }))
const model = 'gpt-4.1-mini'
const prompt = 'count to 40'

/** The gateway's URL. The gateway's provider fails within its next stream. */
async function failing() {
  await gateway.next({ kind: 'error-event' })
  return gateway.url
}

/** The URL of a server whose connections break after the headers. The global fetch simulates it. */
async function cutting(t) {
  const { url, fetch } = await breaking(t, 'after the headers', 'closed')
  const { fetch: others } = globalThis
  t.mock.method(globalThis, 'fetch', (to, init) => (String(to?.url ?? to).startsWith(url) ? fetch : others)(to, init))
  return url
}

async function llamaindex(url, texts) {
  const llm = new OpenAI({ model, apiKey, baseURL: `${url}/v1`, maxRetries: 0 })
  const messages = [{ role: 'user', content: prompt }]
  for await (const { delta } of await llm.chat({ messages, stream: true })) texts.push(delta)
}

async function mastra(url) {
  const settings = { model: { id: `postern/${model}`, url: `${url}/v1`, apiKey }, maxRetries: 0 }
  const agent = new MastraAgent({ id: 'f', name: 'F', instructions: 'Be brief.', ...settings })
  const errors = []
  const result = await agent.stream(prompt, { onError: ({ error }) => errors.push(error) })
  const types = []
  for await (const { type } of result.fullStream) types.push(type)
  return { errors, types, result }
}

async function agents(url, texts) {
  const modelProvider = new OpenAIProvider({ apiKey, baseURL: `${url}/v1` })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const agent = new Agent({ name: 'F', instructions: 'Be brief.', model })
  const result = await runner.run(agent, prompt, { stream: true })
  for await (const text of result.toTextStream()) texts.push(text)
}

test('LlamaIndex: the iterator throws the error of OpenAI’s client, or the transport’s', async (t) => {
  const texts = []
  await assert.rejects(llamaindex(await failing(), texts), (error) => {
    assert.deepEqual([error.constructor.name, error.code], ['APIError', 'provider_error'])
    return true
  })
  assert.match(texts.join(''), /^1 2 3/)
  await assert.rejects(llamaindex(await cutting(t), []), { name: 'TypeError', message: 'terminated' })
})

test('Mastra: nothing is thrown; the error is in onError, in an error part and in result.error', async (t) => {
  for (const [url, expected] of [
    [await failing(), { code: 'provider_error' }],
    [await cutting(t), { name: 'AI_APICallError' }],
  ]) {
    const { errors, types, result } = await mastra(url)
    assert.equal(errors.length, 1)
    for (const error of [errors[0], result.error])
      for (const name in expected) assert.equal(error[name], expected[name])
    assert.ok(types.includes('error'))
    assert.equal(await result.finishReason, 'error')
  }
})

test('OpenAI Agents: the iterator throws', async (t) => {
  const texts = []
  await assert.rejects(agents(await failing(), texts), { name: 'ModelBehaviorError', message: /response\.failed/ })
  assert.match(texts.join(''), /^1 2 3/)
  await assert.rejects(agents(await cutting(t), []), { name: 'TypeError', message: 'terminated' })
})

test('OpenAI’s library for Go: stream.Err returns the error event', async () => {
  const cwd = join(import.meta.dirname, '../openai-go')
  const env = { ...process.env, POSTERN_API_KEY: apiKey, POSTERN_BASE_URL: await failing() }
  // The program sends "Say this is a test". The completion is short, but the provider still fails before its end.
  await assert.rejects(promisify(execFile)('go', ['run', '.'], { cwd, env }), (error) => {
    assert.equal(error.code, 1)
    assert.match(error.stderr, /provider_error/)
    return true
  })
})
