// Tests that the standard tests leave out, against the real gateway: metadata, the Governor, the cache, errors and
// aborts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AuthenticationError,
  BadRequestError,
  BlockedByPolicyError,
  BudgetExceededError,
  NotFoundError,
  StreamError,
} from '@postern-ai/client'
import { ChatPostern, PosternEmbeddings } from '@postern-ai/langchain'
import { counted, startGateway } from '../../../test/sdk/gateway.mjs'

const gateway = await startGateway()
const project = await gateway.project({ cache: 'off' })
const apiKey = await gateway.key(project)
const make = (model, fields = {}) => new ChatPostern({ model, apiKey, baseURL: gateway.url, maxRetries: 0, ...fields })

test('meta of a message and of a stream', async () => {
  const message = await make('only').invoke('Hello')
  const { postern } = message.response_metadata
  assert.match(postern.requestId, /^req_/)
  assert.ok(postern.costCents > 0)
  assert.deepEqual([postern.provider, postern.model, postern.attempts.count], ['openai', 'only', 1])
  let all
  for await (const chunk of await make('poet').stream('count to 5')) all = all?.concat(chunk) ?? chunk
  assert.equal(all.text, counted(5))
  assert.equal(all.response_metadata.postern.provider, 'anthropic')
  assert.equal(all.response_metadata.postern.costCents, null)
})

test('a dropped parameter is in the meta, and an error if strict', async () => {
  const model = make('reasoner', { temperature: 0.5 })
  assert.deepEqual((await model.invoke('Hello')).response_metadata.postern.droppedParams, ['temperature'])
  await assert.rejects(model.invoke('Hello', { postern: { strict: true } }), BadRequestError)
})

test('the cache, and a call without it', async () => {
  const model = make('only', { apiKey: await gateway.key(await gateway.project()) })
  const ask = async (postern) => (await model.invoke('Cache this', { postern })).response_metadata.postern.cache
  assert.deepEqual([await ask(), await ask(), await ask({ cacheControl: 'no-store' })], ['miss', 'hit', 'bypass'])
})

test('an idempotency key replays the message', async () => {
  const ask = async () => (await make('only').invoke('Once', { postern: { idempotency: 'lc-1' } })).response_metadata
  assert.deepEqual([(await ask()).postern.replayed, (await ask()).postern.replayed], [false, true])
})

test('the Governor: a review passes, strict mode blocks, with findings', async () => {
  const governed = await gateway.project({ cache: 'off' })
  await gateway.govern(governed, { enabled: true })
  const model = make('only', { apiKey: await gateway.key(governed) })
  const prompt = 'My card is 4111 1111 1111 1111'
  assert.equal((await model.invoke(prompt)).response_metadata.postern.governor.decision, 'review')
  const strict = { postern: { governor: { strictMode: true } } }
  for (const call of [() => model.invoke(prompt, strict), () => model.stream(prompt, strict)]) {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof BlockedByPolicyError)
      assert.equal(error.findings[0].rule, 'personal.payment-card')
      return true
    })
  }
})

test('errors of the gateway', async () => {
  const empty = await gateway.key(await gateway.project({ budget: 0 }))
  for (const [fields, model, Class] of [
    [{ apiKey: empty }, 'only', BudgetExceededError],
    [{ apiKey: 'sk_live_unknown0123456789' }, 'only', AuthenticationError],
    [{}, 'nope', NotFoundError],
  ]) {
    const embeddings = new PosternEmbeddings({ apiKey, baseURL: gateway.url, maxRetries: 0, ...fields, model })
    await assert.rejects(make(model, fields).invoke('x'), Class)
    await assert.rejects(make(model, fields).stream('x'), Class)
    if (Class !== BudgetExceededError) await assert.rejects(embeddings.embedQuery('x'), Class)
  }
})

test('a provider that fails within a stream', async () => {
  for (const name of ['only', 'poet', 'sage']) {
    await gateway.next({ kind: 'error-event' })
    const read = async () => {
      for await (const _ of await make(name).stream(`count to 40 ${name}`)) void _
    }
    await assert.rejects(read(), (error) => error instanceof StreamError && /^req_/.test(error.requestId))
  }
})

test('an abort in mid-stream ends the provider’s request', async () => {
  const prompt = 'count to 2000 for LangChain'
  await gateway.next({ kind: 'answer', delayMs: 20 }) // half of the events take twenty seconds
  const controller = new AbortController()
  const read = async () => {
    let chunks = 0
    for await (const _ of await make('spare').stream(prompt, { signal: controller.signal })) {
      if (++chunks === 20) controller.abort()
    }
  }
  await assert.rejects(read(), /abort/i)
  const request = await gateway.ended(prompt)
  assert.equal(request.left, true)
  assert.ok(request.eventsSent < 1000, `${request.eventsSent} events`)
})
