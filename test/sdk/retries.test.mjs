// Limits and failures from the perspective of the SDKs' retries: the error, the number of requests and the wait.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI } from '@langchain/openai'
import { APICallError, generateText, RetryError } from 'ai'
import OpenAI from 'openai'
import { startGateway } from './gateway.mjs'

const gateway = await startGateway()
const live = await gateway.key(await gateway.project())
const baseURL = `${gateway.url}/v1`

/**
 * Returns a fetch that counts its requests and notes retries that come sooner than Retry-After said. Time passes only
 * before the retry of a limited request: until then, all requests are in one second of the Worker's virtual clock.
 */
function counter() {
  let retryAt = 0
  const counting = async (url, init) => {
    counting.requests++
    if (retryAt > 0) {
      counting.early ||= Date.now() < retryAt
      await gateway.tick()
    }
    const response = await fetch(url, init)
    const wait = response.headers.get('retry-after-ms')
    if (response.status === 429 && wait !== null) retryAt = Date.now() + Number(wait)
    return response
  }
  counting.requests = 0
  counting.early = false
  return counting
}

// One completion per SDK. Each SDK has its own model, because failures open a model's circuit for a while.
const sdks = {
  openai: (apiKey, maxRetries, counting) => {
    const client = new OpenAI({ baseURL, apiKey, maxRetries, fetch: counting })
    return async (text, model = 'only') => {
      const messages = [{ role: 'user', content: text }]
      return (await client.chat.completions.create({ model, messages })).choices[0].message.content
    }
  },
  'openai responses': (apiKey, maxRetries, counting) => {
    const client = new OpenAI({ baseURL, apiKey, maxRetries, fetch: counting })
    return async (text, model = 'sage') => (await client.responses.create({ model, input: text })).output_text
  },
  anthropic: (apiKey, maxRetries, counting) => {
    const client = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries, fetch: counting })
    return async (text, model = 'poet') => {
      const messages = [{ role: 'user', content: text }]
      return (await client.messages.create({ model, max_tokens: 50, messages })).content[0].text
    }
  },
  'ai, OpenAI': (apiKey, maxRetries, counting) => {
    const provider = createOpenAI({ baseURL, apiKey, fetch: counting })
    return async (text, model = 'spare') =>
      (await generateText({ model: provider(model), prompt: text, maxRetries })).text
  },
  'ai, Anthropic': (apiKey, maxRetries, counting) => {
    const provider = createAnthropic({ baseURL, apiKey, fetch: counting })
    return async (text, model = 'bard') =>
      (await generateText({ model: provider(model), prompt: text, maxRetries })).text
  },
  langchain: (apiKey, maxRetries, counting) => {
    return async (text, model = 'reasoner') => {
      const chat = new ChatOpenAI({ model, apiKey, maxRetries, configuration: { baseURL, fetch: counting } })
      return (await chat.invoke(text)).content
    }
  },
}

// After retries, the AI SDK wraps the last error.
const unwrapped = (error) => (RetryError.isInstance(error) ? error.lastError : error)
const statusOf = (error) => unwrapped(error).status ?? unwrapped(error).statusCode

async function failure(promise) {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new assert.AssertionError({ message: 'the call did not fail' })
}

/**
 * Repeats a burst until it reaches the limit per second, and returns its result. The limit counts requests per second of the clock. If a burst
 * continues into the next second of `postern serve`, it may stay within the limit.
 */
async function withinOneSecond(burst) {
  for (let i = 0; i < 10; i++) {
    const limited = await burst()
    if (limited) return limited
  }
  throw new assert.AssertionError({ message: 'ten bursts, and none reached the limit' })
}

for (const [name, makeComplete] of Object.entries(sdks)) {
  test(`${name}: a short provider outage costs one retry of the SDK`, async () => {
    const counting = counter()
    await gateway.next({ kind: 'status', status: 500, times: 2 }) // the gateway's own attempt and its retry
    assert.equal(await makeComplete(live, 2, counting)(`down, ${name}`), 'Hello from upstream')
    assert.equal(counting.requests, 2)
  })

  test(`${name}: a request that the provider rejects is sent once, and its message reaches the caller`, async () => {
    const counting = counter()
    await gateway.next({ kind: 'status', status: 400 })
    const error = unwrapped(await failure(makeComplete(live, 2, counting)(`rejected, ${name}`)))
    assert.equal(statusOf(error), 400)
    assert.match(error.message, /The provider returned status 400\./)
    assert.equal(counting.requests, 1)
  })

  test(`${name}: the SDK waits for a limit per second`, async () => {
    const counting = counter()
    const key = await gateway.key(await gateway.project({ plan: 'free' }), { environment: 'development' })
    const complete = makeComplete(key, 3, counting)
    await withinOneSecond(async () => {
      counting.requests = 0
      const results = await Promise.all(Array.from({ length: 6 }, (_, i) => complete(`burst ${i} ${name}`, 'only')))
      assert.equal(results.length, 6)
      return counting.requests > 6
    })
    assert.equal(counting.early, false)
  })

  // The AI SDK ignores x-should-retry.
  if (name.startsWith('ai')) continue
  test(`${name}: the SDK does not wait for a limit per day`, async () => {
    const counting = counter()
    const key = await gateway.key(await gateway.project({ plan: 'tiny' }), { environment: 'development' })
    const complete = makeComplete(key, 3, counting)
    // The sixth request waits for the limit of five per second.
    for (let i = 0; i < 6; i++) await complete(`one of six ${i} ${name}`, 'only')
    counting.requests = 0
    const error = await failure(complete(`the seventh ${name}`, 'only'))
    assert.equal(statusOf(error), 429)
    assert.match(error.message, /6 requests per day, is used up; resets at \d{4}-\d\d-\d\d 00:00 UTC; to raise it, ask/)
    assert.equal(counting.requests, 1)
  })
}

for (const [name, makeComplete] of Object.entries(sdks)) {
  test(`${name}: a spent budget is one request, and the error says which and when it resets`, async () => {
    const counting = counter()
    const key = await gateway.key(await gateway.project({ budget: 0.0000001, contact: 'platform@example.com' }))
    const error = unwrapped(await failure(makeComplete(key, 3, counting)(`poor, ${name}`)))
    assert.equal(statusOf(error), 402)
    assert.match(
      error.message,
      /budget of this project for the month does not cover this request: .*; resets at \d{4}-\d\d-01 00:00 UTC; to raise it, ask platform@example\.com/,
    )
    assert.equal(counting.requests, 1)
  })
}

test("rate limits have the SDKs' error classes and a wait", async () => {
  for (const [name, kind] of [
    ['openai', OpenAI.RateLimitError],
    ['openai responses', OpenAI.RateLimitError],
    ['anthropic', Anthropic.RateLimitError],
  ]) {
    const key = await gateway.key(await gateway.project({ plan: 'free' }), { environment: 'development' })
    const complete = sdks[name](key, 0, fetch)
    const { reason } = await withinOneSecond(async () => {
      const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => complete(`${i}`, 'only')))
      return results.find(({ status }) => status === 'rejected')
    })
    assert.ok(reason instanceof kind, name)
    assert.equal(reason.type, 'rate_limit_error')
    const waitMs = Number(reason.headers.get('retry-after-ms'))
    assert.ok(waitMs > 0 && waitMs <= 1000, `${waitMs} ms`)
    assert.equal(reason.headers.get('retry-after'), '1')
  }
})

test('a rate-limited provider: its retry-after reaches the caller without a wait in the gateway', async () => {
  for (const [name, model] of [
    ['openai', 'twin'],
    ['anthropic', 'herald'],
  ]) {
    await gateway.next({ kind: 'status', status: 429, headers: { 'retry-after': '47' } })
    const started = performance.now()
    const error = await failure(sdks[name](live, 0, fetch)('busy', model))
    assert.ok(performance.now() - started < 40_000)
    assert.ok(error.status >= 500, `${error.status}`)
    assert.equal(error.headers.get('retry-after'), '47')
  }
})

test('ai: retryable errors are marked as retryable', async () => {
  const complete = (model, maxRetries) => sdks['ai, OpenAI'](live, maxRetries, fetch)('x', model)
  const error = await failure(complete('nope', 2))
  assert.ok(APICallError.isInstance(error))
  assert.equal(error.isRetryable, false)
  await gateway.next({ kind: 'status', status: 503, times: 2 })
  const down = await failure(complete('elder', 0))
  assert.equal(down.isRetryable, true)
})
