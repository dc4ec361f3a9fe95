// Checks the provider's requests and how it handles responses, with a scripted fetch.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createPostern, PosternCallError } from '@postern-ai/ai-sdk'
import { BlockedByPolicyError, BudgetExceededError, ConfigurationError } from '@postern-ai/client'
import {
  APICallError,
  customProvider,
  defaultSettingsMiddleware,
  embedMany,
  generateText,
  RetryError,
  streamText,
  wrapLanguageModel,
} from 'ai'
import { MockLanguageModelV3 } from 'ai/test'

globalThis.AI_SDK_LOG_WARNINGS = false
const apiKey = 'sk_live_scriptedFetch0123456789'
const meta = {
  'x-request-id': 'req_1',
  'x-postern-provider': 'openai',
  'x-postern-model': 'gpt-5.4',
  'x-postern-cache': 'miss',
  'x-postern-cost-cents': '0.0125',
  'x-postern-price-version': '2026-11-21',
  'x-postern-attempts': '2; openai/gpt-5.4=503, openai/gpt-5.4=200',
}
const completion = {
  id: 'chatcmpl-1',
  created: 1,
  model: 'gpt-5.4',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const json =
  (body, { status = 200, headers = {} } = {}) =>
  () =>
    Response.json(body, { status, headers: { ...meta, ...headers } })
const refused = (status, code, { headers, ...more } = {}) =>
  json(
    { error: { message: `It is ${code}.`, type: 'x', param: null, code, ...more }, request_id: 'req_2' },
    { status, headers },
  )
const events =
  (list, headers = {}) =>
  () =>
    new Response(list.map((e) => `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`).join(''), {
      headers: { ...meta, 'content-type': 'text/event-stream', ...headers },
    })
const piece = (content, finish_reason = null) => ({
  id: 'c',
  model: 'gpt-5.4',
  choices: [{ index: 0, delta: { content }, finish_reason }],
})
const usage = { id: 'c', choices: [], usage: completion.usage }

/** A provider whose requests get the given responses, one after another. Records the requests. */
function scripted(answers, options = {}) {
  const requests = []
  const fetch = async (url, init) => {
    const { body, ...rest } = init
    requests.push({
      ...rest,
      url: String(url),
      headers: Object.fromEntries(new Headers(init.headers)),
      body: JSON.parse(body),
    })
    init.signal?.throwIfAborted()
    return answers[requests.length - 1]()
  }
  const postern = createPostern({ apiKey, baseURL: 'https://ai.example.com/prefix/', fetch, ...options })
  return { postern, requests }
}

/** The major version of the AI SDK under test. */
async function installed() {
  const { default: text } = await import('ai/package.json', { with: { type: 'json' } })
  return Number.parseInt(text.version, 10)
}

const generate = (postern, more = {}) =>
  generateText({ model: postern('gpt-5.4'), prompt: 'A secret prompt', maxRetries: 0, ...more })

test('a request: URL, key, user agent, body', async () => {
  const { postern, requests } = scripted([json(completion)], { headers: { 'x-team': 'a' } })
  const { text } = await generate(postern, {
    temperature: 0.5,
    maxOutputTokens: 9,
    headers: { 'x-call': 'b', authorization: 'Bearer evil' },
  })
  assert.equal(text, 'Hello')
  const [{ url, method, redirect, headers, body }] = requests
  assert.equal(url, 'https://ai.example.com/prefix/v1/chat/completions')
  assert.equal(method, 'POST')
  assert.equal(redirect, 'manual')
  assert.equal(headers['x-api-key'], apiKey)
  assert.equal(headers.authorization, undefined)
  assert.equal(headers['x-team'], 'a')
  assert.equal(headers['x-call'], 'b')
  assert.match(headers['user-agent'], /postern-ai-sdk\/\d+\.\d+\.\d+/)
  for (const name of ['x-postern-govern', 'x-postern-strict', 'cache-control', 'idempotency-key'])
    assert.equal(headers[name], undefined)
  assert.deepEqual(body, {
    model: 'gpt-5.4',
    temperature: 0.5,
    max_tokens: 9,
    messages: [{ role: 'user', content: 'A secret prompt' }],
  })
})

test('meta is in providerMetadata.postern', async () => {
  const { postern } = scripted([json(completion)])
  const { providerMetadata } = await generate(postern)
  const { attempts, ...rest } = providerMetadata.postern
  assert.deepEqual(attempts, {
    count: 2,
    targets: [
      { target: 'openai/gpt-5.4', result: '503' },
      { target: 'openai/gpt-5.4', result: '200' },
    ],
  })
  assert.equal(rest.costCents, 0.0125)
  assert.equal(rest.requestId, 'req_1')
  assert.equal(rest.cache, 'miss')
  assert.deepEqual(rest.droppedParams, [])
  assert.equal(rest.governor, null)
})

test('meta of a stream, its text and its usage', async () => {
  const { postern } = scripted([
    events([piece('Hel'), piece('lo', 'stop'), usage, '[DONE]'], { 'x-postern-governor': 'review; risk=40; policy=7' }),
  ])
  const result = streamText({ model: postern('gpt-5.4'), prompt: 'x' })
  assert.equal(await result.text, 'Hello')
  assert.equal((await result.usage).totalTokens, 5)
  const { governor, requestId } = (await result.providerMetadata).postern
  assert.deepEqual(governor, { decision: 'review', riskScore: 40, policyVersion: 7, unchecked: [] })
  assert.equal(requestId, 'req_1')
})

test('dropped parameters and deprecated models are warnings', async () => {
  const headers = {
    'x-postern-dropped-params': 'temperature, seed',
    deprecation: '@1795262400',
    sunset: 'Mon, 21 Dec 2026 12:00:00 GMT',
    'x-postern-successor': 'gpt-6',
    'x-postern-registry': 'deprecated',
  }
  const { postern } = scripted([json(completion, { headers }), events([piece('x', 'stop'), '[DONE]'], headers)])
  const { warnings } = await generate(postern)
  const streamed = streamText({ model: postern('gpt-5.4'), prompt: 'x' })
  await streamed.consumeStream()
  for (const list of [warnings, await streamed.warnings]) {
    assert.deepEqual(
      list.map(({ type, feature }) => [type, feature]),
      [
        ['unsupported', 'temperature'],
        ['unsupported', 'seed'],
        ['other', undefined],
        ['other', undefined],
      ],
    )
    assert.match(list[2].message, /gpt-5\.4 is deprecated.* 2026-12-21T12:00:00.*Use gpt-6/)
    assert.match(list[3].message, /registry has the model gpt-5\.4 as deprecated/)
  }
})

test('providerOptions.postern: headers for Postern’s own members, the body for others', async () => {
  const { postern, requests } = scripted([json(completion), json(completion), json({ data: [{ embedding: [1] }] })], {
    governor: { autoApproveThreshold: 10 },
  })
  const own = { governor: { strictMode: true }, strict: true, cacheControl: 'no-store', idempotency: 'order-42' }
  await generate(postern, { providerOptions: { postern: { ...own, reasoningEffort: 'low', top_logprobs: 2 } } })
  await generate(postern)
  await embedMany({
    model: postern.embeddingModel('vectors'),
    values: ['x'],
    providerOptions: { postern: { ...own, dimensions: 3 } },
  })
  const [all, none, embedding] = requests
  assert.equal(all.headers['x-postern-govern'], 'strict, threshold=10')
  assert.equal(all.headers['x-postern-strict'], 'true')
  assert.equal(all.headers['cache-control'], 'no-store')
  assert.equal(all.headers['idempotency-key'], 'order-42')
  assert.equal(all.body.reasoning_effort, 'low')
  assert.equal(all.body.top_logprobs, 2)
  for (const name of Object.keys(own)) assert.equal(all.body[name], undefined)
  assert.equal(none.headers['x-postern-govern'], 'threshold=10')
  assert.equal(none.headers['idempotency-key'], undefined)
  assert.equal(embedding.url, 'https://ai.example.com/prefix/v1/embeddings')
  assert.equal(embedding.headers['x-postern-govern'], 'strict, threshold=10')
  assert.equal(embedding.headers['idempotency-key'], undefined)
  assert.deepEqual(embedding.body, { model: 'vectors', input: ['x'], encoding_format: 'float', dimensions: 3 })
})

// Specification v3 has no `reasoning`, but ai 7 passes its setting anyway. ai 6 has no such setting.
test('the reasoning of ai 7 is in the body', async () => {
  const { postern, requests } = scripted([json(completion), json(completion)])
  await generate(postern, { reasoning: 'high' })
  await generate(postern, { reasoning: 'provider-default' })
  assert.deepEqual(
    requests.map(({ body }) => body.reasoning_effort),
    [(await installed()) === 6 ? undefined : 'high', undefined],
  )
})

test('wrong settings of a call are errors, and nothing is sent', async () => {
  for (const postern of [
    { governor: { strict: true } },
    { governor: { autoApproveThreshold: 101 } },
    { idempotency: '' },
  ]) {
    const script = scripted([json(completion)])
    await assert.rejects(generate(script.postern, { providerOptions: { postern } }), ConfigurationError)
    assert.equal(script.requests.length, 0)
  }
})

test('errors have Postern’s code, request ID and findings, and no prompt', async () => {
  const budget = { level: 'group', id: 'grp_1', name: null, unit: 'dollars', period: 'total', resetsAt: null }
  const rule = { rule: 'secret.github-token', category: 'secret', severity: 'high' }
  const findings = [{ ...rule, action: 'block', path: 'messages[0].content', start: 0, end: 9 }]
  for (const [answer, expected, Cause] of [
    [
      refused(402, 'budget_exceeded', { budget }),
      { statusCode: 402, code: 'budget_exceeded', findings: [], isRetryable: false, budget },
      BudgetExceededError,
    ],
    [
      refused(422, 'blocked_by_policy', { findings }),
      { statusCode: 422, code: 'blocked_by_policy', findings, isRetryable: false },
      BlockedByPolicyError,
    ],
    [
      refused(429, 'rate_limited', { resetsAt: '2026-11-24T00:00:00.000Z', headers: { 'x-should-retry': 'false' } }),
      { statusCode: 429, isRetryable: false, resetsAt: '2026-11-24T00:00:00.000Z' },
    ],
    [refused(429, 'rate_limited', { headers: { 'retry-after': '1' } }), { statusCode: 429, isRetryable: true }],
    [refused(503, 'unavailable'), { statusCode: 503, isRetryable: true, attempts: meta['x-postern-attempts'] }],
  ]) {
    for (const run of [
      (postern) => generate(postern),
      (postern) =>
        postern('gpt-5.4').doStream({
          prompt: [{ role: 'user', content: [{ type: 'text', text: 'A secret prompt' }] }],
        }),
    ]) {
      await assert.rejects(run(scripted([answer]).postern), (error) => {
        assert.ok(error instanceof PosternCallError)
        assert.ok(APICallError.isInstance(error))
        for (const [name, value] of Object.entries(expected)) assert.deepEqual(error[name], value, name)
        assert.equal(error.requestId, 'req_2')
        const [finding] = error.findings
        const found = finding ? `: ${finding.path} contains ${finding.rule} (${finding.severity})` : ''
        assert.equal(error.message, `It is ${error.code}.${found} (${error.statusCode}, ${error.code}, req_2)`)
        if (Cause) assert.ok(error.cause instanceof Cause)
        for (const shown of [JSON.stringify(error), inspect(error, { depth: 9 }), String(error)]) {
          assert.doesNotMatch(shown, /A secret prompt|sk_live/)
        }
        return true
      })
    }
  }
})

test('answers that are not the gateway’s', async () => {
  const page = () => new Response('<html>Bad gateway', { status: 502 })
  const moved = () => new Response(null, { status: 302, headers: { location: 'https://elsewhere.example' } })
  for (const [answer, statusCode] of [
    [page, 502],
    [moved, 302],
  ]) {
    await assert.rejects(generate(scripted([answer]).postern), (error) => {
      assert.ok(error instanceof PosternCallError)
      assert.deepEqual([error.statusCode, error.code, error.message], [statusCode, null, `HTTP ${statusCode}`])
      return true
    })
  }
  await assert.rejects(generate(scripted([() => new Response('{')]).postern), (error) => {
    assert.ok(APICallError.isInstance(error))
    assert.doesNotMatch(JSON.stringify(error), /A secret prompt/)
    return true
  })
})

test('the AI SDK retries what may succeed, each time as a new request', async () => {
  const busy = refused(503, 'unavailable', { headers: { 'retry-after-ms': '1' } })
  const { postern, requests } = scripted([busy, busy, json(completion)])
  assert.equal((await generate(postern, { maxRetries: 2 })).text, 'Hello')
  assert.equal(requests.length, 3)
  const given = scripted([busy, busy, busy])
  await assert.rejects(generate(given.postern, { maxRetries: 2 }), (error) => RetryError.isInstance(error))
  const final = scripted([refused(402, 'budget_exceeded')])
  await assert.rejects(generate(final.postern, { maxRetries: 2 }), PosternCallError)
})

test('with an idempotency key, the provider retries with the same key, and the AI SDK does not', async () => {
  const busy = refused(503, 'unavailable', { headers: { 'retry-after-ms': '1' } })
  const broken = () => Promise.reject(new TypeError('fetch failed'))
  const progress = refused(409, 'idempotency_in_progress', { headers: { 'retry-after-ms': '1' } })
  const { postern, requests } = scripted([busy, progress, json(completion)], { idempotency: true })
  assert.equal((await generate(postern, { maxRetries: 2 })).text, 'Hello')
  const keys = requests.map(({ headers }) => headers['idempotency-key'])
  assert.match(keys[0], /^postern-[0-9a-f-]{36}$/)
  assert.equal(new Set(keys).size, 1)
  for (const [answers, sent] of [
    [[busy, busy, busy], 3],
    [[refused(402, 'budget_exceeded')], 1],
    [[refused(429, 'rate_limited', { headers: { 'x-should-retry': 'false' } })], 1],
  ]) {
    const failing = scripted(answers, { idempotency: true })
    await assert.rejects(generate(failing.postern, { maxRetries: 2 }), (error) => {
      assert.ok(error instanceof PosternCallError)
      assert.equal(error.isRetryable, false)
      return true
    })
    assert.equal(failing.requests.length, sent)
  }
  const cut = scripted([broken], { idempotency: true, retries: 0 })
  await assert.rejects(generate(cut.postern, { maxRetries: 2 }))
  assert.equal(cut.requests.length, 1)
  const two = scripted([json(completion), json(completion)], { idempotency: true })
  await generate(two.postern)
  await generate(two.postern)
  assert.notEqual(two.requests[0].headers['idempotency-key'], two.requests[1].headers['idempotency-key'])
  const off = scripted([json(completion)], { idempotency: true })
  await generate(off.postern, { providerOptions: { postern: { idempotency: false } } })
  assert.equal(off.requests[0].headers['idempotency-key'], undefined)
})

test('an aborted call ends the request, also before and within the pause between two attempts', async () => {
  const busy = refused(503, 'unavailable', { headers: { 'retry-after-ms': '59000' } })
  for (const soon of [(abort) => abort(), (abort) => setImmediate(abort)]) {
    const controller = new AbortController()
    const answer = () => {
      soon(() => controller.abort())
      return busy()
    }
    const { postern, requests } = scripted([answer], { idempotency: true })
    await assert.rejects(generate(postern, { abortSignal: controller.signal }), { name: 'AbortError' })
    assert.equal(requests.length, 1)
  }
  await assert.rejects(generate(scripted([]).postern, { abortSignal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('the body of a failed attempt is given up, so that its connection is free', async () => {
  let canceled = false
  const body = new ReadableStream({
    cancel() {
      canceled = true
    },
  })
  const busy = () => new Response(body, { status: 503, headers: { 'retry-after-ms': '1' } })
  await generate(scripted([busy, json(completion)], { idempotency: true }).postern)
  assert.equal(canceled, true)
})

test('nothing that a model shows has the key', () => {
  const { postern } = scripted([], { headers: { 'x-team': 'a' } })
  for (const value of [postern, postern('gpt-5.4'), postern.embeddingModel('vectors')]) {
    for (const shown of [JSON.stringify(value) ?? '', inspect(value, { depth: 9, showHidden: true })]) {
      assert.doesNotMatch(shown, /sk_live_scripted/)
    }
  }
})

test('a provider has the specification that ai 6 and 7 take, and no image models', () => {
  const { postern } = scripted([])
  for (const part of [
    postern,
    postern('x'),
    postern.chat('x'),
    postern.languageModel('x'),
    postern.embeddingModel('x'),
    postern.embedding('x'),
  ]) {
    assert.equal(part.specificationVersion, 'v3')
  }
  assert.equal(postern('x').modelId, 'x')
  assert.equal(postern('x').provider, 'postern.chat')
  assert.throws(() => postern.imageModel('x'), { name: 'AI_NoSuchModelError' })
})

test('options are checked, and read from variables', async () => {
  assert.throws(() => createPostern({ baseURL: 'https://ai.example.com' }), ConfigurationError)
  assert.throws(() => createPostern({ apiKey, baseURL: 'ftp://ai.example.com' }), ConfigurationError)
  assert.throws(
    () => createPostern({ apiKey, baseURL: 'https://ai.example.com', environment: 'development' }),
    ConfigurationError,
  )
  assert.throws(
    () => createPostern({ apiKey, baseURL: 'https://a.example', headers: { 'X-API-Key': 'x' } }),
    ConfigurationError,
  )
  Object.assign(process.env, {
    POSTERN_API_KEY: apiKey,
    POSTERN_BASE_URL: 'https://env.example.com',
    POSTERN_GOVERNOR_STRICT_MODE: 'true',
  })
  const { postern } = await import('@postern-ai/ai-sdk')
  const network = globalThis.fetch
  let seen
  globalThis.fetch = async (url, init) => {
    seen = { url, headers: new Headers(init.headers) }
    return json(completion)()
  }
  assert.equal((await generate(postern)).text, 'Hello')
  globalThis.fetch = network
  assert.equal(seen.url, 'https://env.example.com/v1/chat/completions')
  assert.equal(seen.headers.get('x-api-key'), apiKey)
  assert.equal(seen.headers.get('x-postern-govern'), 'strict')
})

test('the parts of a stream, as the specification orders them', async () => {
  const call = (index, id, name, args) => ({
    index,
    ...(id && { id, type: 'function' }),
    function: { name, arguments: args },
  })
  const delta = (tool_calls, finish_reason = null) => ({
    id: 'c',
    choices: [{ index: 0, delta: { tool_calls }, finish_reason }],
  })
  const list = [
    piece('Hi'),
    delta([call(0, 'call_1', 'weather', '{"ci')]),
    delta([call(0, null, undefined, 'ty":"Paris"}')]),
  ]
  const { postern } = scripted([events([...list, delta([], 'tool_calls'), usage, '[DONE]'])])
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]
  const { stream } = await postern('gpt-5.4').doStream({ prompt })
  const parts = await Array.fromAsync(stream)
  assert.deepEqual(
    parts.map(({ type }) => type),
    [
      'stream-start',
      'response-metadata',
      'text-start',
      'text-delta',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-delta',
      'text-end',
      'tool-input-end',
      'tool-call',
      'finish',
    ],
  )
  const { toolCallId, toolName, input } = parts.find(({ type }) => type === 'tool-call')
  assert.deepEqual([toolCallId, toolName, input], ['call_1', 'weather', '{"city":"Paris"}'])
  const { finishReason, usage: counted, providerMetadata } = parts.at(-1)
  assert.equal(finishReason.unified, 'tool-calls')
  assert.deepEqual([counted.inputTokens.total, counted.outputTokens.total], [3, 2])
  assert.equal(providerMetadata.postern.requestId, 'req_1')
})

test('the AI SDK’s middleware and custom providers take the models', async () => {
  const { postern, requests } = scripted([json(completion), json(completion)])
  const settings = { providerOptions: { postern: { cacheControl: 'no-store' } } }
  const middleware = defaultSettingsMiddleware({ settings })
  const model = wrapLanguageModel({ model: postern('gpt-5.4'), middleware })
  assert.equal((await generateText({ model, prompt: 'x' })).text, 'Hello')
  assert.equal(requests[0].headers['cache-control'], 'no-store')
  const local = new MockLanguageModelV3({ provider: 'local', modelId: 'small' })
  const provider = customProvider({ languageModels: { small: local }, fallbackProvider: postern })
  assert.equal((await generateText({ model: provider.languageModel('gpt-5.4'), prompt: 'x' })).text, 'Hello')
  const { provider: owner, modelId } = provider.languageModel('small')
  assert.deepEqual([owner, modelId], ['local', 'small'])
})

test('a function gives the key of each request, and its failure ends the call', async () => {
  const keys = ['sk_live_functionA0123456789', 'sk_live_functionB0123456789']
  const busy = json(
    { error: { message: 'Busy' }, request_id: 'req_1' },
    { status: 503, headers: { 'retry-after-ms': '1' } },
  )
  const { postern, requests } = scripted([busy, json(completion)], { apiKey: async () => keys.shift() })
  const { text } = await generate(postern, { providerOptions: { postern: { idempotency: true } } })
  assert.equal(text, 'Hello')
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-api-key']),
    ['sk_live_functionA0123456789', 'sk_live_functionB0123456789'],
  )
  const failing = () => Promise.reject(new Error('vault: very-secret'))
  const { postern: without, requests: none } = scripted([], { apiKey: failing })
  const error = await generate(without, { maxRetries: 2 }).catch((thrown) => thrown)
  assert.ok(error instanceof ConfigurationError, error)
  assert.doesNotMatch(inspect(error), /very-secret/)
  assert.equal(none.length, 0)
})
