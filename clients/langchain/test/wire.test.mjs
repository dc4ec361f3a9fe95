// Checks the classes' requests and how they handle responses, with a scripted fetch.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { getRetryable } from '@langchain/core/errors'
import { load } from '@langchain/core/load'
import { HumanMessage } from '@langchain/core/messages'
import {
  APIConnectionError,
  AuthenticationError,
  BlockedByPolicyError,
  BudgetExceededError,
  ConfigurationError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  StreamError,
} from '@postern-ai/client'
import * as langchain from '@postern-ai/langchain'
import { z } from 'zod'

const { ChatPostern, PosternEmbeddings } = langchain
const apiKey = 'sk_live_scriptedFetch0123456789'
const meta = {
  'x-request-id': 'req_1',
  'x-postern-provider': 'openai',
  'x-postern-model': 'gpt-5.4',
  'x-postern-cost-cents': '0.0125',
  'x-postern-attempts': '1; openai/gpt-5.4=200',
}
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const completion = (content = 'Hello') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-5.4',
  choices: [
    { index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  usage,
})
const json =
  (body, { status = 200, headers = {} } = {}) =>
  () =>
    Response.json(body, { status, headers: { ...meta, ...headers } })
const refused = (status, code, { headers, ...more } = {}) =>
  json(
    { error: { message: `It is ${code}.`, type: 'x', param: null, code, ...more }, request_id: 'req_1' },
    { status, headers },
  )
const busy = refused(503, 'unavailable', { headers: { 'retry-after-ms': '1' } })
const events = (list) => () =>
  new Response(list.map((e) => `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`).join(''), {
    headers: { ...meta, 'content-type': 'text/event-stream' },
  })
const piece = (content, finish_reason = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-5.4',
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason }],
})

/**
 * Constructor fields of a model whose requests get the given responses one after another, and the recorded requests.
 */
function scripted(answers, more = {}) {
  const requests = []
  const fetch = async (url, init) => {
    const headers = Object.fromEntries(new Headers(init.headers))
    requests.push({ ...init, url: String(url), headers, body: JSON.parse(init.body) })
    init.signal?.throwIfAborted()
    return (answers[requests.length - 1] ?? answers.at(-1))()
  }
  return { fields: { model: 'gpt-5.4', apiKey, baseURL: 'https://ai.example.com/prefix/', fetch, ...more }, requests }
}

test('a request: URL, key, user agent, body', async () => {
  Object.assign(process.env, {
    OPENAI_API_KEY: 'sk-other',
    OPENAI_ORG_ID: 'org-1',
    OPENAI_ORGANIZATION: 'org-1',
    OPENAI_PROJECT_ID: 'proj-1',
  })
  Object.assign(process.env, {
    OPENAI_BASE_URL: 'https://other.example/v1',
    LANGSMITH_GATEWAY: 'https://other.example',
  })
  const { fields, requests } = scripted([json(completion())], { temperature: 0.5, headers: { 'x-team': 'a' } })
  const message = await new ChatPostern(fields).invoke('A secret prompt')
  for (const name of Object.keys(process.env)) if (/^(OPENAI|LANGSMITH)_/.test(name)) delete process.env[name]
  assert.equal(message.text, 'Hello')
  const [{ url, method, redirect, headers, body, retries }] = requests
  assert.equal(url, 'https://ai.example.com/prefix/v1/chat/completions')
  assert.deepEqual([method, redirect, retries], ['POST', 'manual', undefined])
  assert.equal(headers['x-api-key'], apiKey)
  assert.equal(headers['x-team'], 'a')
  assert.match(headers['user-agent'], /postern-langchain\/\d+\.\d+\.\d+$/)
  for (const name of [
    'authorization',
    'openai-organization',
    'openai-project',
    'x-postern-govern',
    'idempotency-key',
  ]) {
    assert.equal(headers[name], undefined, name)
  }
  assert.deepEqual(body, {
    model: 'gpt-5.4',
    temperature: 0.5,
    stream: false,
    messages: [{ role: 'user', content: 'A secret prompt' }],
  })
})

test('meta is in response_metadata.postern, of messages and of streams, once', async () => {
  const streamed = events([
    piece('Hel'),
    piece('lo'),
    piece('', 'stop'),
    { ...piece(''), choices: [], usage },
    '[DONE]',
  ])
  const { fields } = scripted([json(completion()), streamed])
  const model = new ChatPostern(fields)
  const message = await model.invoke('x')
  let all
  for await (const chunk of await model.stream('x')) all = all?.concat(chunk) ?? chunk
  assert.equal(all.text, 'Hello')
  for (const { response_metadata, usage_metadata } of [message, all]) {
    const { requestId, model, costCents, attempts, governor } = response_metadata.postern
    assert.deepEqual([requestId, model, costCents, governor], ['req_1', 'gpt-5.4', 0.0125, null])
    assert.deepEqual(attempts, { count: 1, targets: [{ target: 'openai/gpt-5.4', result: '200' }] })
    assert.equal(usage_metadata.total_tokens, 5)
  }
})

test('meta of structured output, by the parser of OpenAI’s client', async () => {
  const City = z.object({ city: z.string() })
  const { fields, requests } = scripted([json(completion('{"city":"Paris"}'))])
  const { raw, parsed } = await new ChatPostern(fields).withStructuredOutput(City, { includeRaw: true }).invoke('x')
  assert.deepEqual(parsed, { city: 'Paris' })
  assert.equal(raw.response_metadata.postern.requestId, 'req_1')
  assert.equal(requests[0].body.response_format.type, 'json_schema')
})

test('Postern’s settings of a call, and of a model', async () => {
  const answer = json(completion())
  const stream = events([piece('x', 'stop'), '[DONE]'])
  const { fields, requests } = scripted([answer, stream, answer, answer], { governor: { autoApproveThreshold: 10 } })
  const model = new ChatPostern(fields)
  const postern = { governor: { strictMode: true }, strict: true, cacheControl: 'no-store', idempotency: 'order-42' }
  await model.invoke('x', { postern })
  for await (const _ of await model.stream('x', { postern })) void _
  await model.withConfig({ postern }).invoke('x')
  await model.invoke('x')
  for (const { headers, body } of requests.slice(0, 3)) {
    assert.equal(headers['x-postern-govern'], 'strict, threshold=10')
    assert.equal(headers['x-postern-strict'], 'true')
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['idempotency-key'], 'order-42')
    assert.equal(body.postern, undefined)
  }
  assert.equal(requests[3].headers['x-postern-govern'], 'threshold=10')
  assert.equal(requests[3].headers['idempotency-key'], undefined)
})

test('wrong settings of a call are errors, and nothing is sent', async () => {
  for (const postern of [{ governor: { strict: true } }, { idempotency: '' }]) {
    const { fields, requests } = scripted([json(completion())])
    await assert.rejects(new ChatPostern(fields).invoke('x', { postern }), ConfigurationError)
    assert.equal(requests.length, 0)
  }
})

test('errors are the client’s, as LangChain marks them', async () => {
  const findings = [{ rule: 'secret.github-token' }]
  for (const [answer, Class, fields, lcCode] of [
    [refused(402, 'budget_exceeded'), BudgetExceededError, { status: 402, code: 'budget_exceeded' }],
    [refused(422, 'blocked_by_policy', { findings }), BlockedByPolicyError, { status: 422, findings }],
    [refused(401, 'invalid_key'), AuthenticationError, { status: 401 }, 'MODEL_AUTHENTICATION'],
    [refused(404, 'unknown_model'), NotFoundError, { status: 404 }, 'MODEL_NOT_FOUND'],
    [
      refused(429, 'rate_limited', { resetsAt: '2026-11-24T00:00:00.000Z', headers: { 'x-should-retry': 'false' } }),
      RateLimitError,
      { status: 429, resetsAt: '2026-11-24T00:00:00.000Z' },
      'MODEL_RATE_LIMIT',
    ],
    [
      () => new Response('<html>', { status: 502 }),
      InternalServerError,
      { status: 502, code: null, message: 'HTTP 502' },
    ],
  ]) {
    for (const run of [(model) => model.invoke('A secret prompt'), (model) => model.stream('A secret prompt')]) {
      const script = scripted([answer, answer], { maxRetries: 0 })
      await assert.rejects(run(new ChatPostern(script.fields)), (error) => {
        assert.ok(error instanceof Class, error.name)
        for (const [name, value] of Object.entries(fields)) assert.deepEqual(error[name], value)
        const text = `It is ${error.code}. (${error.status}, ${error.code}, req_1)`
        if (error.code) assert.deepEqual([error.message, error.requestId], [text, 'req_1'])
        assert.equal(error.lc_error_code, lcCode)
        assert.equal(getRetryable(error), false)
        assert.doesNotMatch(JSON.stringify(error) + inspect(error, { depth: 9 }), /A secret prompt|sk_live/)
        return true
      })
      assert.equal(script.requests.length, 1)
    }
  }
})

test('retries are the client’s, also for embeddings', async () => {
  const vectors = json({ data: [{ index: 0, embedding: [1, 2] }], usage })
  const answers = [busy, () => Promise.reject(new TypeError('fetch failed')), json(completion())]
  const chat = scripted(answers)
  assert.equal((await new ChatPostern(chat.fields).invoke('x')).text, 'Hello')
  assert.equal(chat.requests.length, 3)
  const embedding = scripted([busy, busy, vectors], { model: 'vectors', encodingFormat: 'float' })
  assert.deepEqual(await new PosternEmbeddings(embedding.fields).embedQuery('x'), [1, 2])
  const over = scripted([busy, busy, busy])
  await assert.rejects(new ChatPostern(over.fields).invoke('x'), InternalServerError)
  assert.equal(over.requests.length, 3)
  const none = scripted([busy], { maxRetries: 0 })
  await assert.rejects(new ChatPostern(none.fields).invoke('x'), InternalServerError)
  const broken = () => Promise.reject(new TypeError('fetch failed'))
  for (const maxRetries of [0, 1]) {
    const cut = scripted([broken, broken, broken], { maxRetries })
    await assert.rejects(new ChatPostern(cut.fields).invoke('x'), APIConnectionError)
    await assert.rejects(new PosternEmbeddings(cut.fields).embedQuery('x'), APIConnectionError)
    assert.equal(cut.requests.length, 2 * (1 + maxRetries))
  }
  const once = scripted([busy, json(completion())], { maxRetries: 0 })
  assert.equal((await new ChatPostern(once.fields).withConfig({ maxRetries: 1 }).invoke('x')).text, 'Hello')
  const denied = scripted([refused(402, 'budget_exceeded')], { model: 'vectors' })
  await assert.rejects(new PosternEmbeddings(denied.fields).embedQuery('x'), BudgetExceededError)
})

test('the retries of a call share its idempotency key', async () => {
  const { fields, requests } = scripted([busy, json(completion()), json(completion())], { idempotency: true })
  const model = new ChatPostern(fields)
  await model.invoke('x')
  await model.invoke('x')
  const [first, again, next] = requests.map(({ headers }) => headers['idempotency-key'])
  assert.match(first, /^postern-[0-9a-f-]{36}$/)
  assert.equal(again, first)
  assert.notEqual(next, first)
})

test('an error event, and a stream that is cut off', async () => {
  const failure = {
    error: { message: 'The budget is spent.', type: 'x', param: null, code: 'budget_exceeded' },
    request_id: 'req_1',
  }
  for (const [list, code, message] of [
    [[piece('Hel'), failure], 'budget_exceeded', 'The budget is spent.'],
    [[piece('Hel')], 'incomplete_stream', 'The stream is incomplete'],
    [[piece('Hel'), '[DONE]'], 'incomplete_stream', 'The stream is incomplete'],
  ]) {
    const chunks = []
    const read = async () => {
      for await (const chunk of await new ChatPostern(scripted([events(list)]).fields).stream('x'))
        chunks.push(chunk.text)
    }
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof StreamError)
      assert.deepEqual([error.code, error.message, error.requestId, error.text], [code, message, 'req_1', 'Hel'])
      return true
    })
    assert.equal(chunks.join(''), 'Hel')
  }
})

test('a connection that breaks within a stream is a StreamError', async () => {
  const cut = () => {
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify(piece('Hel'))}\n\n`)
    let sent = false
    const body = new ReadableStream({
      pull(controller) {
        if (sent) controller.error(new TypeError('terminated'))
        else controller.enqueue(bytes)
        sent = true
      },
    })
    return new Response(body, { headers: { ...meta, 'content-type': 'text/event-stream' } })
  }
  const read = async () => {
    for await (const _ of await new ChatPostern(scripted([cut]).fields).stream('x'));
  }
  await assert.rejects(read(), (error) => {
    assert.ok(error instanceof StreamError, String(error))
    assert.deepEqual([error.code, error.requestId, error.text], ['connection_lost', 'req_1', 'Hel'])
    return true
  })
})

test('an aborted call, before, in a pause and in a stream', async () => {
  const late = refused(503, 'unavailable', { headers: { 'retry-after-ms': '59000' } })
  const controller = new AbortController()
  const abort = () => {
    setImmediate(() => controller.abort())
    return late()
  }
  const pause = scripted([abort])
  await assert.rejects(new ChatPostern(pause.fields).invoke('x', { signal: controller.signal }), /abort/i)
  assert.equal(pause.requests.length, 1)
  const before = scripted([json(completion())])
  await assert.rejects(new ChatPostern(before.fields).invoke('x', { signal: AbortSignal.abort() }), /abort/i)
  assert.equal(before.requests.length, 0)
})

test('callbacks', async () => {
  const seen = []
  const callbacks = [
    {
      handleChatModelStart: (serialized, messages) =>
        seen.push(['start', JSON.stringify(serialized), messages[0][0].text]),
      handleLLMNewToken: (token) => seen.push(['token', token]),
      handleLLMEnd: ({ generations }) =>
        seen.push(['end', generations[0][0].message.response_metadata.postern.costCents]),
      handleLLMError: (error) => seen.push(['error', error.name]),
    },
  ]
  const { fields } = scripted([
    json(completion()),
    events([piece('a'), piece('b', 'stop'), '[DONE]']),
    refused(402, 'budget_exceeded'),
  ])
  const model = new ChatPostern({ ...fields, callbacks, maxRetries: 0 })
  await model.invoke('x')
  for await (const _ of await model.stream('x')) void _
  await assert.rejects(model.invoke('x'))
  assert.deepEqual(
    seen.map(([what]) => what),
    ['start', 'end', 'start', 'token', 'token', 'end', 'start', 'error'],
  )
  assert.deepEqual(seen.at(-1), ['error', 'BudgetExceededError'])
  assert.equal(seen[1][1], 0.0125)
  assert.doesNotMatch(JSON.stringify(seen), /sk_live/)
})

test('a serialized model has everything but the key, and can be loaded', async () => {
  const { fields } = scripted([], { temperature: 0.5, governor: { strictMode: true } })
  const { fetch: _, ...rest } = fields
  const model = new ChatPostern(rest)
  const text = JSON.stringify(model)
  assert.doesNotMatch(text, /sk_live/)
  const { id, kwargs } = JSON.parse(text)
  assert.deepEqual(id, ['langchain', 'chat_models', 'postern', 'ChatPostern'])
  assert.deepEqual(kwargs, {
    model: 'gpt-5.4',
    temperature: 0.5,
    governor: { strictMode: true },
    base_url: 'https://ai.example.com/prefix/',
    api_key: { lc: 1, type: 'secret', id: ['POSTERN_API_KEY'] },
  })
  const secretsMap = { POSTERN_API_KEY: apiKey }
  const loaded = await load(text, { secretsMap, importMap: { chat_models__postern: { ChatPostern } } })
  assert.ok(loaded instanceof ChatPostern)
  assert.deepEqual(JSON.parse(JSON.stringify(loaded)), JSON.parse(text))
  const network = globalThis.fetch
  globalThis.fetch = async (_, init) => {
    assert.equal(new Headers(init.headers).get('x-api-key'), apiKey)
    assert.equal(new Headers(init.headers).get('x-postern-govern'), 'strict')
    return json(completion())()
  }
  assert.equal((await loaded.invoke('x')).text, 'Hello')
  globalThis.fetch = network
})

test('nothing that a model shows has the key', async () => {
  const { fields } = scripted([json(completion()), json({ data: [{ embedding: [1] }], usage })], {
    encodingFormat: 'float',
  })
  const [chat, embeddings] = [new ChatPostern(fields), new PosternEmbeddings(fields)]
  await chat.invoke(new HumanMessage('x').text)
  await embeddings.embedQuery('x')
  for (const value of [chat, embeddings, chat.bindTools([]), chat.identifyingParams(), chat.getLsParams({})]) {
    assert.doesNotMatch(inspect(value, { depth: 12, showHidden: true }), /sk_live_scripted/)
  }
})

test('options are checked, and read from variables', async () => {
  for (const Class of [ChatPostern, PosternEmbeddings]) {
    const make = (fields) => () => new Class({ model: 'x', apiKey, baseURL: 'https://ai.example.com', ...fields })
    make({})()
    for (const fields of [
      { model: '' },
      { apiKey: '' },
      { baseURL: 'ftp://ai.example.com' },
      { environment: 'development' },
      { maxRetries: 11 },
      { headers: { Authorization: 'x' } },
      { governor: { strict: true } },
    ]) {
      assert.throws(make(fields), ConfigurationError, JSON.stringify(fields))
    }
  }
  Object.assign(process.env, {
    POSTERN_API_KEY: apiKey,
    POSTERN_BASE_URL: 'https://env.example.com',
    POSTERN_RETRIES: '0',
  })
  const { fields, requests } = scripted([busy])
  await assert.rejects(new ChatPostern('cheap', { fetch: fields.fetch }).invoke('x'), InternalServerError)
  assert.equal(requests[0].url, 'https://env.example.com/v1/chat/completions')
  assert.equal(requests[0].body.model, 'cheap')
})

test('the text of a blocked call has its finding once', async () => {
  const finding = { rule: 'personal.email', severity: 'medium', path: 'messages[0].content' }
  const message = 'Blocked by policy: messages[0].content contains personal.email (medium)'
  const body = { error: { message, type: 'x', param: null, code: 'blocked_by_policy', findings: [finding] } }
  const blocked = json({ ...body, request_id: 'req_1' }, { status: 422 })
  await assert.rejects(new ChatPostern(scripted([blocked]).fields).invoke('x'), (error) => {
    assert.equal(error.message, `${message} (422, blocked_by_policy, req_1)`)
    return true
  })
})

test('a function gives the key of each attempt, and its failure ends the call', async () => {
  const keys = ['sk_live_functionA0123456789', 'sk_live_functionB0123456789']
  const { fields, requests } = scripted([busy, json(completion())], { maxRetries: 1, apiKey: async () => keys.shift() })
  assert.equal((await new ChatPostern(fields).invoke('x')).text, 'Hello')
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-api-key']),
    ['sk_live_functionA0123456789', 'sk_live_functionB0123456789'],
  )
  const failing = { apiKey: () => Promise.reject(new Error('vault: very-secret')) }
  const without = scripted([], failing)
  for (const call of [
    () => new ChatPostern(without.fields).invoke('x'),
    () => new PosternEmbeddings({ ...without.fields, model: 'vectors' }).embedQuery('x'),
  ]) {
    const error = await call().catch((thrown) => thrown)
    assert.ok(error instanceof ConfigurationError, inspect(error))
    assert.equal(getRetryable(error), false)
    assert.doesNotMatch(inspect(error), /very-secret/)
  }
  assert.equal(without.requests.length, 0)
})
