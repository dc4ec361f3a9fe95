// The provider with the AI SDK's functions, against the real gateway in front of a fake provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostern, PosternCallError, PosternStreamError } from '@postern-ai/ai-sdk'
import { BlockedByPolicyError, BudgetExceededError } from '@postern-ai/client'
import {
  createProviderRegistry,
  embed,
  embedMany,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamObject,
  streamText,
  ToolLoopAgent,
  tool,
  wrapLanguageModel,
} from 'ai'
import { z } from 'zod'
import { counted, picture, startGateway } from '../../../test/sdk/gateway.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const gateway = await startGateway(({ models }) => {
  // Like Ollama's models, this one accepts images only as data.
  const only = models.find(({ name }) => name === 'only')
  models.push({ ...only, name: 'local', drops: [...(only.drops ?? []), 'image_urls'] })
})
const project = await gateway.project({ cache: 'off' })
const connect = (apiKey, options = {}) => createPostern({ apiKey, baseURL: gateway.url, ...options })
const live = connect(await gateway.key(project))
const mock = connect(await gateway.key(project, { environment: 'development' }))
const City = z.object({ city: z.string() })
const Trip = z.object({ name: z.string(), days: z.number(), stops: z.array(City), note: z.string().nullable() })
const maxRetries = 0

for (const [mode, postern] of [
  ['provider', live],
  ['mock', mock],
]) {
  const real = mode === 'provider'
  // The upstream formats of these models are chat completions, messages and responses.
  for (const name of ['only', 'poet', 'sage']) {
    const model = postern(name)
    const it = (what, run) => test(`${mode}, ${name}: ${what}`, run)

    it('generateText', async () => {
      const result = await generateText({ model, prompt: 'Hello', maxRetries })
      assert.match(result.text, real ? /^Hello from upstream$/ : /Hello$/)
      assert.equal(result.finishReason, 'stop')
      assert.ok(result.usage.inputTokens > 0 && result.usage.outputTokens > 0)
      const { postern: meta } = result.providerMetadata
      assert.match(meta.requestId, /^req_/)
      assert.equal(meta.model, name)
      assert.equal(meta.provider === 'mock', !real)
      assert.ok(real ? meta.costCents > 0 : meta.costCents === 0)
      assert.equal(meta.attempts.count, real ? 1 : 0)
    })

    it('streamText', async () => {
      const result = streamText({ model, prompt: 'count to 30', maxRetries })
      let text = ''
      for await (const piece of result.textStream) text += piece
      assert.equal(text, real ? counted(30) : "This is Postern's test mode. You said: count to 30")
      assert.equal(await result.finishReason, 'stop')
      assert.ok((await result.usage).outputTokens > 0)
      const { postern: meta } = await result.providerMetadata
      assert.match(meta.requestId, /^req_/)
      assert.equal(meta.costCents, null)
    })

    it('generateObject and streamObject', async () => {
      const { object } = await generateObject({ model, schema: Trip, prompt: 'A trip', maxRetries })
      assert.ok(Trip.safeParse(object).success)
      const streamed = streamObject({ model, schema: Trip, prompt: 'A trip', maxRetries })
      let parts = 0
      for await (const _ of streamed.partialObjectStream) parts++
      assert.ok(parts > 0)
      assert.ok(Trip.safeParse(await streamed.object).success)
    })

    it('Output.object', async () => {
      const { output } = await generateText({
        model,
        prompt: 'A city',
        output: Output.object({ schema: City }),
        maxRetries,
      })
      assert.ok(City.safeParse(output).success)
    })

    it('tool loop: generateText, streamText and an agent', async () => {
      const called = []
      const weather = tool({
        inputSchema: City,
        execute: ({ city }) => {
          called.push(city)
          return `21 degrees in ${city}`
        },
      })
      const settings = { model, tools: { weather }, stopWhen: stepCountIs(3), maxRetries }
      const whole = await generateText({ ...settings, prompt: 'Weather?' })
      const streamed = streamText({ ...settings, prompt: 'Weather, streamed?' })
      const agent = await new ToolLoopAgent(settings).generate({ prompt: 'Weather, agent?' })
      for (const text of [whole.text, await streamed.text, agent.text]) assert.match(text, /21 degrees in/)
      assert.equal(whole.steps.length, 2)
      assert.equal(called.length, 3)
      assert.ok(called.every((city) => typeof city === 'string'))
    })

    it('parallel tool calls, a forced tool and no tool', async () => {
      const named = (text) => tool({ inputSchema: City, execute: () => text })
      const tools = { weather: named('rain'), time: named('noon') }
      const settings = { model, tools, maxRetries }
      const forced = await generateText({ ...settings, prompt: 'x', toolChoice: { type: 'tool', toolName: 'time' } })
      assert.deepEqual(
        forced.toolCalls.map(({ toolName }) => toolName),
        ['time'],
      )
      const none = await generateText({ ...settings, prompt: 'x', toolChoice: 'none' })
      assert.deepEqual(none.toolCalls, [])
      if (!real) return
      const both = await generateText({ ...settings, prompt: 'parallel, please', stopWhen: stepCountIs(2) })
      assert.equal(both.text, 'The tool said: rain; noon')
    })

    it('the address of an image', async () => {
      const image = { type: 'image', image: new URL('https://files.example/a.png') }
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }]
      const { text, warnings } = await generateText({ model, messages, maxRetries })
      assert.match(text, real ? /an image \(https:\/\/files\.example\/a\.png\)/ : /\[image\]/)
      assert.deepEqual(warnings, [])
    })

    it('an image and several messages', async () => {
      const image = { type: 'file', data: Buffer.from(picture, 'base64'), mediaType: 'image/png' }
      const messages = [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hello!' },
        { role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] },
      ]
      const { text } = await generateText({ model, system: 'Be brief.', messages, maxRetries })
      assert.match(text, real ? /image\/png, 8 bytes/ : /\[image\]/)
    })
  }

  test(`${mode}: embed and embedMany`, async () => {
    const model = postern.embeddingModel('vectors')
    const one = await embed({ model, value: 'text', maxRetries })
    assert.ok(one.embedding.length >= 8 && one.embedding.every(Number.isFinite))
    assert.match(one.providerMetadata.postern.requestId, /^req_/)
    const many = await embedMany({ model, values: ['one', 'two', 'three'], maxRetries })
    assert.equal(many.embeddings.length, 3)
    assert.ok(many.usage.tokens > 0)
  })

  test(`${mode}: a registry and tiers`, async () => {
    const registry = createProviderRegistry({ postern })
    const { text } = await generateText({ model: registry.languageModel('postern:cheap'), prompt: 'Hello', maxRetries })
    assert.match(text, /Hello/)
  })
}

test('a dropped parameter is a warning, and an error if strict', async () => {
  const settings = { model: live('reasoner'), prompt: 'Hello', temperature: 0.5, maxRetries }
  const { warnings, providerMetadata } = await generateText(settings)
  assert.deepEqual(providerMetadata.postern.droppedParams, ['temperature'])
  assert.deepEqual(
    warnings.map(({ type, feature }) => [type, feature]),
    [['unsupported', 'temperature']],
  )
  const strict = generateText({ ...settings, providerOptions: { postern: { strict: true } } })
  await assert.rejects(strict, (error) => error instanceof PosternCallError && error.statusCode === 400)
})

test('a target without addresses of images: the image is left out with a warning; data arrives', async () => {
  const ask = async (model, image) => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }]
    return generateText({ model, messages, maxRetries, experimental_download: download })
  }
  const downloaded = { data: Buffer.from(picture, 'base64'), mediaType: 'image/png' }
  const download = async (requests) =>
    requests.map(({ isUrlSupportedByModel }) => (isUrlSupportedByModel ? null : downloaded))
  const image = { type: 'image', image: new URL('https://files.example/a.png') }
  const { warnings } = await ask(live('local'), image)
  assert.deepEqual(
    warnings.map(({ type, feature }) => [type, feature]),
    [['unsupported', 'image_urls']],
  )
  const middleware = { specificationVersion: 'v3', overrideSupportedUrls: () => ({}) }
  const loaded = await ask(wrapLanguageModel({ model: live('local'), middleware }), image)
  assert.match(loaded.text, /image\/png, 8 bytes/)
  assert.deepEqual(loaded.warnings, [])
})

test('the cache, and how a call leaves it out', async () => {
  const cached = connect(await gateway.key(await gateway.project()))
  const ask = async (postern) => {
    const settings = { model: cached('only'), prompt: 'Cache this', maxRetries }
    return (await generateText({ ...settings, providerOptions: { postern } })).providerMetadata.postern.cache
  }
  assert.equal(await ask({}), 'miss')
  assert.equal(await ask({}), 'hit')
  assert.equal(await ask({ cacheControl: 'no-store' }), 'bypass')
})

test('an idempotency key replays the answer', async () => {
  const settings = { model: live('only'), prompt: 'Once', providerOptions: { postern: { idempotency: 'order-1' } } }
  assert.equal((await generateText(settings)).providerMetadata.postern.replayed, false)
  assert.equal((await generateText(settings)).providerMetadata.postern.replayed, true)
})

test('the Governor: a review passes, strict mode blocks, with findings', async () => {
  const governed = await gateway.project({ cache: 'off' })
  await gateway.govern(governed, { enabled: true })
  const model = connect(await gateway.key(governed))('only')
  const prompt = 'My card is 4111 1111 1111 1111'
  const passed = await generateText({ model, prompt, maxRetries })
  assert.equal(passed.providerMetadata.postern.governor.decision, 'review')
  const strict = { postern: { governor: { strictMode: true } } }
  await assert.rejects(generateText({ model, prompt, maxRetries, providerOptions: strict }), (error) => {
    assert.ok(error instanceof PosternCallError)
    assert.ok(error.cause instanceof BlockedByPolicyError)
    assert.equal(error.code, 'blocked_by_policy')
    assert.equal(error.findings[0].rule, 'personal.payment-card')
    return true
  })
})

test('errors of the gateway', async () => {
  const empty = connect(await gateway.key(await gateway.project({ budget: 0 })))
  await assert.rejects(generateText({ model: empty('only'), prompt: 'x', maxRetries }), (error) => {
    assert.ok(error.cause instanceof BudgetExceededError)
    assert.deepEqual([error.statusCode, error.code], [402, 'budget_exceeded'])
    assert.match(error.requestId, /^req_/)
    return true
  })
  for (const [postern, model, statusCode] of [
    [live, 'nope', 404],
    [connect('sk_live_unknown0123456789'), 'only', 401],
  ]) {
    await assert.rejects(generateText({ model: postern(model), prompt: 'x', maxRetries }), { statusCode })
    await assert.rejects(embed({ model: postern.embeddingModel(model), value: 'x', maxRetries }), { statusCode })
  }
})

test('a provider that fails within a stream', async () => {
  for (const name of ['only', 'poet']) {
    await gateway.next({ kind: 'error-event' })
    const errors = []
    const onError = ({ error }) => errors.push(error)
    const result = streamText({ model: live(name), prompt: `count to 40 ${name}`, maxRetries, onError })
    let finished = false
    for await (const part of result.fullStream) finished ||= part.type === 'finish' && part.finishReason === 'stop'
    assert.equal(finished, false)
    assert.equal(errors.length, 1)
    assert.ok(errors[0] instanceof PosternStreamError)
    assert.match(errors[0].requestId, /^req_/)
    assert.equal(typeof errors[0].code, 'string')
  }
})

test('an abort in mid-stream ends the provider’s request', async () => {
  const prompt = 'count to 2000 for the AI SDK provider'
  await gateway.next({ kind: 'answer', delayMs: 20 }) // half of the events take twenty seconds
  const controller = new AbortController()
  const result = streamText({ model: live('spare'), prompt, abortSignal: controller.signal, maxRetries, onError() {} })
  let read = 0
  for await (const _ of result.textStream) if (++read === 20) controller.abort()
  const request = await gateway.ended(prompt)
  assert.equal(request.left, true)
  assert.ok(request.eventsSent < 1000, `${request.eventsSent} events`)
})
