// Tests of the client beyond the table: concurrent calls, promises, its printed form, errors, logs and time.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { inspect, promisify } from 'node:util'
import * as client from '../dist/index.js'
import { pauseBefore } from '../dist/retry.js'
import { fakeClient, hello } from './fake.mjs'
import { startServer } from './server.mjs'

const server = await startServer()
const { APIConnectionError, APIError, ConfigurationError, Postern, PosternError } = client
const healthy = async () => Response.json({ status: 'ok', authenticated: true, project_id: 'proj_1' })

test('one client makes a hundred calls at a time', async () => {
  const id = 'hundred'
  const completion = { text: 'Hi', provider: 'p', model: 'm', cacheHit: false, usage: {} }
  const script = Array.from({ length: 100 }, (_, i) => ({ json: completion, delayMs: i % 10 }))
  await fetch(`${server}/__cases/${id}`, { method: 'PUT', body: JSON.stringify(script) })
  const postern = new Postern({ apiKey: 'sk_test_a', baseURL: `${server}/c/${id}`, idempotency: true })
  const calls = Array.from({ length: 100 }, (_, i) =>
    postern.ai.complete({ messages: [{ role: 'user', content: `${i}` }] }),
  )
  const texts = (await Promise.all(calls)).map(({ text }) => text)
  assert.deepEqual(texts, Array(100).fill('Hi'))
  const requests = await (await fetch(`${server}/__cases/${id}`)).json()
  assert.equal(new Set(requests.map(({ body }) => body.messages[0].content)).size, 100)
  assert.equal(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size, 100)
})

test('a call returns a promise like any other', async () => {
  const postern = fakeClient(healthy)
  assert.ok(postern.health.get() instanceof Promise)
  assert.deepEqual(await Promise.all([postern.health.get(), 1]), [await postern.health.get(), 1])
  assert.equal(await postern.health.get().then(({ projectId }) => projectId), 'proj_1')
  assert.equal(postern.health.get().then().constructor, Promise)
  let last = false
  await postern.health.get().finally(() => {
    last = true
  })
  assert.equal(last, true)
  const refused = () => fakeClient(async () => Response.json({}, { status: 401 })).health.get()
  assert.equal(await refused().catch(({ status }) => status), 401)
  await assert.rejects(refused().withResponse(), client.AuthenticationError)
})

test('a wrong argument rejects the promise, and does not throw', async () => {
  const postern = fakeClient(healthy)
  await assert.rejects(postern.violations.get(''), ConfigurationError)
  await assert.rejects(postern.violations.get('vio_\ud800'), ConfigurationError)
  await assert.rejects(postern.models.transition(undefined, { to: 'retired' }), ConfigurationError)
  await assert.rejects(postern.ai.complete({ ...hello, schema: {} }), ConfigurationError)
  await assert.rejects(postern.ai.complete({ ...hello, temperature: 1n }), ConfigurationError)
  await assert.rejects(postern.health.get({ timeOut: 5 }), /timeOut is not an option; the options are timeout, retries/)
  await assert.rejects(postern.health.get({ governor: { strict: true } }), /governor\.strict is not an option/)
  for (const options of [
    { idempotency: 5 },
    { timeout: '5' },
    { governor: { enabled: 'yes' } },
    { governor: { strictMode: 1 } },
    { governor: [] },
    { signal: 1 },
    { signal: { aborted: false } },
    { headers: 'x: y' },
    { headers: [['x', 'y']] },
    null,
    'x',
  ]) {
    await assert.rejects(postern.health.get(options), ConfigurationError, JSON.stringify(options))
  }
})

test('a misspelled option of the client is an error', () => {
  assert.throws(() => new Postern({ apiKey: 'sk_test_a', baseUrl: 'http://x' }), /baseUrl is not an option; .*baseURL/)
  assert.throws(() => new Postern({ apiKey: 'sk_test_a', logging: { verbose: true } }), /logging\.verbose/)
  for (const options of [
    { timeout: '5' },
    { timeout: 1.5 },
    { retries: NaN },
    { idempotency: 1 },
    { fetch: 'x' },
    { governor: 5 },
    { logging: { logger: 'x' } },
    { logging: [] },
  ]) {
    assert.throws(() => new Postern({ apiKey: 'sk_test_a', ...options }), ConfigurationError, JSON.stringify(options))
  }
  const message = (given) => ({ name: 'ConfigurationError', message: given })
  assert.throws(() => new Postern({ apiKey: 'sk_test_a', logging: 'debug' }), message('logging must be an object'))
  assert.throws(() => new Postern('sk_test_a'), message('options must be an object'))
})

test('missing parameters, and parameters of another type, reject the promise', async () => {
  let requests = 0
  const postern = fakeClient(() => requests++)
  for (const params of [undefined, null, 'Hello!', [hello]]) {
    const calls = {
      complete: () => postern.ai.complete(params),
      chat: () => postern.ai.chat(params),
      embed: () => postern.ai.embed(params),
      validate: () => postern.governor.validate(params),
      update: () => postern.violations.update('vio_1', params),
      create: () => postern.models.create(params),
      change: () => postern.models.update('mod_1', params),
      transition: () => postern.models.transition('mod_1', params),
    }
    const optional = {
      usage: () => postern.usage.get(params),
      violations: () => postern.violations.list(params),
      models: () => postern.models.list(params),
      export: () => postern.compliance.export(params).lines().next(),
    }
    for (const [name, call] of Object.entries({ ...calls, ...(params !== undefined && optional) })) {
      const wrong = { name: 'ConfigurationError', message: 'The parameters must be an object' }
      await assert.rejects(call(), wrong, `${name} ${JSON.stringify(params)}`)
    }
  }
  assert.equal(requests, 0)
})

test('an unknown parameter of a model call is an error before a request is sent', async () => {
  let requests = 0
  const { ai } = fakeClient(() => requests++)
  const wrong = { name: 'ConfigurationError', message: /^max_tokens is not a parameter; .*maxTokens/ }
  await assert.rejects(ai.complete({ ...hello, max_tokens: 5 }), wrong)
  await assert.rejects(ai.chat({ ...hello, max_tokens: 5 }), wrong)
  const schema = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } }
  await assert.rejects(ai.complete({ ...hello, schema, max_tokens: 5 }), wrong)
  await assert.rejects(
    ai.embed({ model: 'm', input: 'one', user: 'u' }),
    /^ConfigurationError: user is not a parameter/,
  )
  assert.equal(requests, 0)
})

test('a schema without a JSON Schema is not sent', async () => {
  const bodies = []
  const postern = fakeClient(async (_, { body }) => {
    bodies.push(JSON.parse(body))
    return Response.json({ text: '{}', usage: {} })
  })
  const input = () => {
    throw new Error('Dates cannot be represented in JSON Schema')
  }
  for (const jsonSchema of [undefined, { input }]) {
    const schema = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }), jsonSchema } }
    assert.deepEqual((await postern.ai.complete({ ...hello, schema })).data, {})
  }
  assert.deepEqual(bodies, Array(2).fill({ ...hello, mode: 'json' }))
})

test("the text of an OutputValidationError has the first issue's place", async () => {
  const postern = fakeClient(async () => Response.json({ text: '{}', usage: {} }))
  const textOf = (issues) => {
    const schema = { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues }) } }
    return postern.ai.complete({ ...hello, schema }).catch(({ message }) => message)
  }
  const start = 'The output does not match the schema: '
  const path = ['cities', { key: 2 }, 'name']
  assert.equal(await textOf([{ message: 'must be text', path }]), `${start}cities[2].name: must be text`)
  assert.equal(await textOf([{ message: 'a', path: [0] }, { message: 'b' }]), `${start}[0]: a (and 1 more)`)
  assert.equal(await textOf([{ message: 'must be a list' }]), `${start}must be a list`)
})

test('the filters of a list may be changed before its next page', async () => {
  const urls = []
  const postern = fakeClient(async (url) => {
    urls.push(new URL(url).search)
    return Response.json({ violations: [], next: urls.length === 1 ? 'b' : null })
  })
  const filters = { state: 'open' }
  const page = await postern.violations.list(filters)
  filters.state = 'resolved'
  await page.nextPage()
  assert.deepEqual(urls, ['?state=open', '?state=open&after=b'])
})

test('the key is not shown by printing the client, a call, or an error', async () => {
  const postern = fakeClient(async () => Response.json({ error: 'no', code: 'invalid_api_key' }, { status: 401 }), {
    apiKey: 'sk_test_verySecret',
  })
  const call = postern.health.get()
  const error = await call.catch((error) => error)
  const lost = await fakeClient(() => Promise.reject(new TypeError('fetch failed')))
    .health.get()
    .catch((error) => error)
  for (const shown of [postern, postern.ai, call, error, lost]) {
    for (const text of [inspect(shown, { depth: Infinity, showHidden: true }), JSON.stringify(shown), String(shown)]) {
      assert.ok(!text.includes('verySecret'), text)
    }
  }
})

test('errors form a hierarchy, have names, and are plain JSON', async () => {
  const {
    APIAbortedError,
    APITimeoutError,
    BlockedByPolicyError,
    InvalidResponseError,
    OutputValidationError,
    StreamError,
    UnprocessableEntityError,
  } = client
  const parents = [
    [PosternError, Error],
    [ConfigurationError, PosternError],
    [APIConnectionError, PosternError],
    [APITimeoutError, APIConnectionError],
    [APIAbortedError, PosternError],
    [InvalidResponseError, PosternError],
    [OutputValidationError, PosternError],
    [StreamError, PosternError],
    [APIError, PosternError],
    [BlockedByPolicyError, UnprocessableEntityError],
    ...[
      client.BadRequestError,
      client.AuthenticationError,
      client.BudgetExceededError,
      client.PermissionDeniedError,
      client.NotFoundError,
      client.ConflictError,
      client.RequestTooLargeError,
      client.UnprocessableEntityError,
      client.RateLimitError,
      client.InternalServerError,
    ].map((Class) => [Class, APIError]),
  ]
  for (const [child, parent] of parents) {
    assert.equal(Object.getPrototypeOf(child), parent)
    assert.equal(child.prototype.name, child.name)
  }
  const postern = fakeClient(async () =>
    Response.json(
      { error: 'Rate limit exceeded', code: 'rate_limit_exceeded', requestId: 'req_1' },
      { status: 429, headers: { 'retry-after-ms': '5' } },
    ),
  )
  const error = await postern.health.get().catch((error) => error)
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    name: 'RateLimitError',
    message: 'Rate limit exceeded (429, rate_limit_exceeded, req_1)',
    status: 429,
    code: 'rate_limit_exceeded',
    requestId: 'req_1',
    details: [],
    findings: [],
    attempts: null,
    resetsAt: null,
    budget: null,
    retryAfterMs: 5,
  })
  assert.match(inspect(error), /RateLimitError: Rate limit exceeded/)
})

test('a connection error has the cause and its code', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const baseURL = `http://127.0.0.1:${closed.address().port}`
  closed.close()
  const postern = new Postern({ apiKey: 'sk_test_a', baseURL, retries: 0, logging: { level: 'off' } })
  const error = await postern.health.get().catch((error) => error)
  assert.ok(error instanceof APIConnectionError)
  assert.equal(error.message, `GET /api/health: connection to ${baseURL} failed (ECONNREFUSED)`)
  assert.equal(error.cause.cause.code, 'ECONNREFUSED')
})

test("a time limit of the transport's own is a timeout", async () => {
  const cause = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
  const postern = fakeClient(() => Promise.reject(new TypeError('fetch failed', { cause })), { retries: 0 })
  await assert.rejects(postern.health.get(), client.APITimeoutError)
})

test('pauses have a jitter of at most a quarter, downward', () => {
  const pause = (attempts, random) => pauseBefore(null, attempts, 0, () => random).ms
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((n) => pause(n, 0)),
    [500, 1000, 2000, 4000, 8000, 8000],
  )
  assert.deepEqual([pause(1, 1), pause(1, 0.5), pause(9, 1)], [375, 437.5, 6000])
})

test('the pause is real, and an abort ends it', async () => {
  const headers = { 'retry-after-ms': '60000' }
  const postern = new Postern({
    apiKey: 'sk_test_a',
    baseURL: 'http://gateway.test',
    fetch: async () => Response.json({}, { status: 429, headers }),
  })
  const controller = new AbortController()
  const call = postern.health.get({ signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await assert.rejects(call, (error) => error.name === 'APIAbortedError' && error.cause.message === 'enough')
  let requests = 0
  const short = new Postern({
    apiKey: 'sk_test_a',
    baseURL: 'http://gateway.test',
    fetch: async () =>
      requests++ === 0 ? Response.json({}, { status: 429, headers: { 'retry-after-ms': '30' } }) : healthy(),
  })
  const started = performance.now()
  await short.health.get()
  assert.ok(performance.now() - started >= 29)
})

test('a call leaves no listener on a signal and no timer', async () => {
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
  signal.addEventListener = (...args) => ++listeners && add(...args)
  signal.removeEventListener = (...args) => --listeners && remove(...args)
  const failing = fakeClient(async () => Response.json({}, { status: 503 }))
  await failing.health.get({ signal }).catch(() => {})
  await fakeClient(healthy).health.get({ signal })
  assert.equal(listeners, 0)
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
  assert.deepEqual(timers, [])
})

test('by default, logs are lines of JSON or text on standard error', async () => {
  const script = `
    import { Postern } from '${import.meta.resolve('../dist/index.js')}'
    const fetch = async () => Response.json({ error: 'Down', code: 'x y' }, { status: 503, headers: { 'x-request-id': 'req_1' } })
    const postern = new Postern({ apiKey: 'sk_test_a', baseURL: 'http://gateway.test', retries: 0, fetch })
    await postern.health.get().catch(() => {})`
  const run = (env) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env: { ...process.env, ...env } })
  const { stdout, stderr } = await run({})
  const { time, ...record } = JSON.parse(stderr)
  assert.equal(stdout, '')
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(record, {
    level: 'error',
    msg: 'request_failed',
    method: 'GET',
    path: '/api/health',
    status: 503,
    code: 'x y',
    requestId: 'req_1',
    attempts: 1,
  })
  const pretty = await run({ POSTERN_LOG_PRETTY: 'true' })
  assert.match(
    pretty.stderr,
    /^\d\d:\d\d:\d\d\.\d{3} ERROR request_failed method=GET path=\/api\/health status=503 code="x y" requestId=req_1 attempts=1\n$/,
  )
})

test('a logger that throws does not fail the call', async () => {
  const logger = () => {
    throw new Error('disk full')
  }
  const postern = fakeClient(healthy, { logging: { level: 'debug', logger } })
  assert.equal((await postern.health.get()).projectId, 'proj_1')
})

test('warnings are remembered up to a limit', async () => {
  const logs = []
  let n = 0
  const postern = fakeClient(
    async () => Response.json({ project_id: 'p' }, { headers: { 'x-postern-dropped-params': `p${n++ % 150}` } }),
    { logging: { logger: (record) => logs.push(record) } },
  )
  for (let i = 0; i < 300; i++) await postern.health.get()
  assert.equal(logs.length, 100)
})

test('the global fetch is looked up at each call', async () => {
  const original = globalThis.fetch
  const postern = new Postern({ apiKey: 'sk_test_a', baseURL: 'http://gateway.test' })
  globalThis.fetch = healthy
  try {
    assert.equal((await postern.health.get()).projectId, 'proj_1')
  } finally {
    globalThis.fetch = original
  }
})

test('pages can be read one by one', async () => {
  const pages = { undefined: ['a', 'b'], b: ['c'] }
  const postern = fakeClient(async (url) => {
    const after = new URL(url).searchParams.get('after') ?? undefined
    const violations = pages[after].map((id) => ({ id }))
    return Response.json({ violations, next: after ? null : 'b' }, { headers: { 'x-request-id': `req_${after}` } })
  })
  const first = await postern.violations.list()
  const second = await first.nextPage()
  assert.deepEqual(second.items, [{ id: 'c' }])
  assert.equal(await second.nextPage(), null)
  const sizes = []
  for await (const page of first.pages()) sizes.push(page.items.length)
  assert.deepEqual(sizes, [2, 1])
  const { meta } = await postern.violations.list().withResponse()
  assert.equal(meta.requestId, 'req_undefined')
})

test('a post of any endpoint is repeated with the key that the call asks for, and only then', async () => {
  const keys = []
  const postern = fakeClient(
    async (_, { headers }) => {
      keys.push(headers.get('idempotency-key'))
      if (keys.length % 2 === 1) throw new TypeError('fetch failed')
      return Response.json({ ok: true })
    },
    { idempotency: true },
  )
  assert.deepEqual(await postern.post('/api/other', {}, { idempotency: true }), { ok: true })
  assert.match(keys[0], /^postern-[0-9a-f-]{36}$/)
  assert.deepEqual([keys.length, keys[1]], [2, keys[0]])
  await assert.rejects(postern.post('/api/other', {}, { idempotency: false }), APIConnectionError)
  await assert.rejects(postern.get('/api/other', { idempotency: '' }), ConfigurationError)
  assert.deepEqual(keys.slice(2), [null])
})

test('a body that is no JSON, and a path of another type, are errors before a request is sent', async () => {
  let requests = 0
  const postern = fakeClient(() => requests++)
  const cycle = {}
  cycle.self = cycle
  for (const body of [1n, cycle, () => {}, Symbol('a')])
    await assert.rejects(postern.post('/api/other', body), ConfigurationError, inspect(body))
  for (const path of [
    undefined,
    null,
    5,
    ['/a'],
    '/\ud800',
    '/a\u0000',
    '/a\u00a0b',
    '/.',
    '/a/%2E',
    '/%2e./b',
    '/a/..',
  ])
    await assert.rejects(postern.get(path), /^ConfigurationError: path must /, inspect(path))
  await assert.rejects(postern.get('/api/other', null), ConfigurationError)
  assert.equal(requests, 0)
})
