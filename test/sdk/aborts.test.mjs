// Clients that disconnect during a stream or before it starts. The upstream request is aborted within a second, and
// only the tokens received so far are billed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI } from '@langchain/openai'
import { streamText } from 'ai'
import OpenAI from 'openai'
import { eventually, startGateway } from './gateway.mjs'

const gateway = await startGateway()
const baseURL = `${gateway.url}/v1`
const PIECES = 2000
const READ = 40
const PACE_MS = 4 // milliseconds between two of the provider's events; 2000 events take eight seconds

// Each function starts a stream that `signal` aborts, and yields pieces of text.
const streams = {
  async *openai({ apiKey, model, prompt, signal }) {
    const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
    const messages = [{ role: 'user', content: prompt }]
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }, { signal })) {
      yield chunk.choices[0]?.delta.content
    }
  },
  async *'openai responses'({ apiKey, model, prompt, signal }) {
    const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
    for await (const event of await client.responses.create({ model, input: prompt, stream: true }, { signal })) {
      if (event.type === 'response.output_text.delta') yield event.delta
    }
  },
  async *anthropic({ apiKey, model, prompt, signal }) {
    const client = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })
    const messages = [{ role: 'user', content: prompt }]
    for await (const event of client.messages.stream({ model, max_tokens: 9000, messages }, { signal })) {
      if (event.type === 'content_block_delta') yield event.delta.text
    }
  },
  async *'ai, OpenAI'({ apiKey, model, prompt, signal }) {
    const result = streamText({ model: createOpenAI({ baseURL, apiKey })(model), prompt, abortSignal: signal })
    yield* result.textStream
  },
  async *'ai, Anthropic'({ apiKey, model, prompt, signal }) {
    const result = streamText({ model: createAnthropic({ baseURL, apiKey })(model), prompt, abortSignal: signal })
    yield* result.textStream
  },
  async *langchain({ apiKey, model, prompt, signal }) {
    const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 })
    for await (const chunk of await chat.stream(prompt, { signal })) yield chunk.content
  },
}

async function requestOf(prompt) {
  return (await gateway.seen()).find(({ body }) => body.includes(prompt))
}

/** Aborts the stream after a number of text pieces, and returns the time of the abort. */
async function abortAfter(stream, controller, pieces) {
  let abortedAt
  try {
    let read = 0
    for await (const text of stream) {
      if (text && ++read === pieces) {
        abortedAt = Date.now()
        controller.abort()
      }
    }
  } catch (error) {
    if (abortedAt === undefined) throw error // the failure came before the abort
  }
  assert.ok(abortedAt, 'the stream ended before the abort')
  return abortedAt
}

for (const [name, stream] of Object.entries(streams)) {
  for (const model of ['spare', 'bard', 'elder']) {
    test(`${name}, ${model}: abort in mid-stream`, async () => {
      const project = await gateway.project()
      const apiKey = await gateway.key(project)
      const prompt = `count to ${PIECES} for ${name} by ${model}`
      const controller = new AbortController()
      await gateway.next({ kind: 'answer', delayMs: PACE_MS })
      const abortedAt = await abortAfter(stream({ apiKey, model, prompt, signal: controller.signal }), controller, READ)
      const request = await eventually(async () => {
        const found = await requestOf(prompt)
        return found.done && found
      })
      assert.equal(request.left, true)
      const cutMs = Date.parse(request.leftAt) - abortedAt
      assert.ok(cutMs < 1000, `aborted after ${cutMs} ms`)
      assert.ok(request.eventsSent >= READ && request.eventsSent < PIECES / 2, `${request.eventsSent} events`)
      const { requests, tokens, cost } = await eventually(async () => {
        return (await gateway.usage(project, apiKey)).models[model]
      })
      assert.equal(requests, 1)
      // If Anthropic reports the prompt's tokens at the start, they are 100. Otherwise, they are an estimate. A
      // number is one to three tokens.
      const most = 100 + 3 * request.eventsSent
      assert.ok(tokens >= READ && tokens <= most, `${tokens} tokens of ${request.eventsSent} events`)
      assert.ok(cost > 0 && cost < (PIECES * 20) / 1e6, `${cost}`) // the models' output costs 20 dollars per million tokens
    })
  }

  test(`${name}: abort before the first byte`, async () => {
    const apiKey = await gateway.key(await gateway.project())
    const prompt = `never mind, ${name}`
    const controller = new AbortController()
    await gateway.next({ kind: 'silent' })
    const model = 'spare'
    const reading = (async () => {
      for await (const text of stream({ apiKey, model, prompt, signal: controller.signal }))
        assert.equal(text ?? '', '')
    })()
    await eventually(() => requestOf(prompt))
    const abortedAt = Date.now()
    controller.abort()
    await reading.catch(() => undefined)
    const request = await eventually(async () => {
      const found = await requestOf(prompt)
      return found.done && found
    })
    assert.equal(request.left, true)
    assert.ok(Date.parse(request.leftAt) - abortedAt < 1000)
  })
}
