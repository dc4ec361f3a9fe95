// Tests in addition to the table: concurrency, cancellation and secrets of key functions and hooks, and the pauses of
// many calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { APIAbortedError, APITimeoutError, ConfigurationError } from '../dist/index.js'
import { bytesOf, delta, done, fakeClient, HOOKS, hello } from './fake.mjs'

const health = { status: 'ok', authenticated: true, project_id: 'proj_1' }
const healthy = async () => Response.json(health)
const never = () => new Promise(() => {})
const keyOf = (init) => init.headers.get('x-api-key')

test('a hundred calls at a time each get the key of their own call of the function', async () => {
  let calls = 0
  const sent = []
  const apiKey = async () => {
    const n = ++calls
    await setImmediate() // all calls are in the function at the same time
    return `sk_live_${n}`
  }
  const fetch = async (_, init) => {
    sent.push(keyOf(init))
    return Response.json(health)
  }
  const postern = fakeClient(fetch, { apiKey })
  await Promise.all(Array.from({ length: 100 }, () => postern.health.get()))
  assert.deepEqual(new Set(sent), new Set(Array.from({ length: 100 }, (_, i) => `sk_live_${i + 1}`)))
})

test('a function may return a key, and its environment is checked only if one is set', async () => {
  const call = (options) => fakeClient(healthy, options).health.get()
  assert.equal((await call({ apiKey: () => 'sk_test_plain' })).projectId, 'proj_1')
  assert.equal((await call({ apiKey: () => 'sk_live_a', environment: 'production' })).projectId, 'proj_1')
  assert.equal((await call({ apiKey: () => 'another-form', environment: 'production' })).projectId, 'proj_1')
  const wrong = call({ apiKey: () => 'sk_live_secretKey', environment: 'development' })
  await assert.rejects(wrong, (error) => {
    assert.ok(error instanceof ConfigurationError)
    assert.match(error.message, /environment is development/)
    return !inspect(error).includes('secretKey')
  })
  assert.equal(fakeClient(healthy, { apiKey: () => 'sk_test_a' }).environment, 'production')
  assert.equal(fakeClient(healthy, { apiKey: () => 'x', environment: 'development' }).environment, 'development')
})

test('headers that a request hook keeps never have the key', async () => {
  const kept = []
  const sent = []
  const fetch = async (_, init) => {
    sent.push(keyOf(init), init.headers.get('traceparent'))
    return Response.json(health)
  }
  const onRequest = ({ headers }) => {
    headers.set('traceparent', 'a')
    kept.push(headers)
  }
  const postern = fakeClient(fetch, { onRequest })
  await postern.health.get()
  kept[0].set('traceparent', 'late')
  await postern.health.get()
  assert.deepEqual(sent, ['sk_test_fake', 'a', 'sk_test_fake', 'a'])
  assert.deepEqual(
    kept.map((headers) => headers.has('x-api-key')),
    [false, false],
  )
})

test('a result that is no key is refused, and neither it nor the error of the function is shown', async () => {
  const fails = async () => {
    throw new Error('vault: very-secret')
  }
  const given = [
    fails,
    () => 5,
    () => null,
    () => '  ',
    () => 'very-secret\n!',
    () => 'very-secret-ä',
    () => ['very-secret'],
  ]
  for (const apiKey of given) {
    let requests = 0
    const postern = fakeClient(() => requests++, { apiKey })
    await assert.rejects(postern.health.get(), (error) => {
      assert.ok(error instanceof ConfigurationError, inspect(error))
      assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes('very-secret'), inspect(error))
      return true
    })
    assert.equal(requests, 0)
  }
})

test('the key of a function is not shown by printing the client, a stream or an error', async () => {
  const answers = [
    new Response(bytesOf([delta('Hi'), done]), { headers: { 'content-type': 'text/event-stream' } }),
    Response.json({ error: 'no', code: 'invalid_api_key' }, { status: 401 }),
  ]
  const postern = fakeClient(async () => answers.shift(), { apiKey: () => 'sk_test_verySecret' })
  const stream = await postern.ai.chat(hello)
  await stream.text()
  const error = await postern.health.get().catch((error) => error)
  for (const shown of [postern, stream, error]) {
    const text = inspect(shown, { depth: 20, showHidden: true }) + JSON.stringify(shown) + String(shown)
    assert.ok(!text.includes('verySecret'), text)
  }
})

const SLOW = {
  'a key function': { apiKey: never },
  'a request hook': { onRequest: never },
  'a response hook': { onResponse: never },
}

for (const [name, options] of Object.entries(SLOW)) {
  test(`an abort while ${name} runs ends the call, and its end later changes nothing`, async () => {
    const controller = new AbortController()
    const [option] = Object.keys(options)
    let fail
    let signal
    const slow = () => {
      setImmediate().then(() => controller.abort(new Error('enough')))
      return new Promise((_, reject) => {
        fail = reject
      })
    }
    const fetch = async (_, init) => {
      signal = init.signal
      return Response.json(health)
    }
    const call = fakeClient(fetch, { [option]: slow }).health.get({ signal: controller.signal })
    await assert.rejects(call, (error) => error instanceof APIAbortedError && error.cause.message === 'enough')
    fail(new Error('late')) // if nobody handled the rejection, the test would fail
    await setImmediate()
    assert.equal(signal?.aborted ?? true, true)
  })

  test(`the timeout covers ${name}, which is then called again`, async () => {
    const logs = []
    const logging = { level: 'info', logger: ({ msg }) => logs.push(msg) }
    const given = { ...options, environment: 'development', logging, retries: 1, timeout: 20 }
    const call = fakeClient(healthy, given).health.get()
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof APITimeoutError)
      assert.equal(error.message, 'GET /api/health timed out after 20 ms')
      return true
    })
    assert.deepEqual(logs, ['retry', 'request_failed'])
  })
}

test('the error of a hook is the error of the call, whatever it is, and is neither logged nor repeated', async () => {
  for (const option of ['onRequest', 'onResponse']) {
    for (const thrown of [new TypeError('fetch failed'), new APITimeoutError('of the hook'), 'a text', undefined]) {
      const logs = []
      let calls = 0
      const hook = () => {
        calls++
        throw thrown
      }
      const logging = { level: 'info', logger: (record) => logs.push(record) }
      const call = fakeClient(healthy, { [option]: hook, logging }).health.get()
      assert.deepEqual(await call.then(assert.fail, (error) => [error === thrown, calls, logs]), [true, 1, []])
    }
  }
})

test('a response that its hook refuses is closed', async () => {
  let signal
  const fetch = async (_, init) => {
    signal = init.signal
    return Response.json(health)
  }
  const onResponse = () => {
    throw new Error('no')
  }
  await assert.rejects(fakeClient(fetch, { onResponse }).ai.chat(hello), /^Error: no$/)
  assert.equal(signal.aborted, true)
})

test('hooks do not get the key, and what they do to headers is for one attempt', async () => {
  const sent = []
  const seen = []
  const fetch = async (_, { headers }) => {
    sent.push(Object.fromEntries(headers))
    return Response.json(health, { status: sent.length === 1 ? 500 : 200, headers: { 'x-should-retry': 'true' } })
  }
  const onRequest = ({ headers, attempt }) => {
    seen.push(Object.fromEntries(headers))
    if (attempt === 1) headers.set('x-first', '1')
    headers.delete('x-team')
  }
  const onResponse = ({ headers, status }) => {
    if (status === 500) headers.set('x-should-retry', 'false') // the hook changes a copy that the client does not see
  }
  const postern = fakeClient(fetch, { onRequest, onResponse, headers: { 'x-team': 'core' } })
  await postern.health.get()
  assert.ok(seen.every((headers) => headers['x-api-key'] === undefined && headers['x-team'] === 'core'))
  assert.deepEqual(
    sent.map((headers) => [headers['x-first'], headers['x-team'], headers['x-api-key']]),
    [
      ['1', undefined, 'sk_test_fake'],
      [undefined, undefined, 'sk_test_fake'],
    ],
  )
})

test('options of another type are errors', async () => {
  const options = [
    { onRequest: 1 },
    { onResponse: 'x' },
    { headers: 'x: y' },
    { headers: [['x', 'y']] },
    { headers: { '': 'x' } },
    { query: 'a=b' },
    { query: [] },
    { query: { a: null } },
    { query: { a: ['b'] } },
    { apiKey: 5 },
  ]
  for (const given of options) assert.throws(() => fakeClient(healthy, given), ConfigurationError, inspect(given))
  for (const query of ['a=b', { a: {} }, null, { a: Symbol('b') }])
    await assert.rejects(fakeClient(healthy).health.get({ query }), ConfigurationError, inspect(query))
  const secret = { query: { token: ['very-secret'] } }
  assert.throws(
    () => fakeClient(healthy, secret),
    (error) => !error.message.includes('very-secret'),
  )
})

test('headers and queries of a client may be changed by its caller later', async () => {
  const urls = []
  const sent = []
  const fetch = async (url, init) => {
    urls.push(url)
    sent.push(init.headers.get('x-team'))
    return Response.json(health)
  }
  const options = { headers: new Headers({ 'x-team': 'core' }), query: { n: 0, on: false, none: undefined } }
  const postern = fakeClient(fetch, options)
  options.headers.set('x-team', 'other')
  options.query.n = 1
  await postern.health.get()
  assert.deepEqual([sent, urls], [['core'], ['http://gateway.test/api/health?n=0&on=false']])
})

test('a list that names itself as its next page ends, whatever the query of the client is', async () => {
  let requests = 0
  const fetch = async () => {
    if (++requests > 5) throw new Error('endless')
    const link = '<?type=audit&limit=1>; rel="next"'
    return new Response('{"format":"postern-export"}\n', { headers: { link } })
  }
  const lines = fakeClient(fetch, { query: { tenant: 'a' } })
    .compliance.export({ type: 'audit', limit: 1 })
    .lines()
  await assert.rejects(Array.fromAsync(lines), /has itself as its next page/)
})

/** A client whose server asks each first attempt to wait for a second. The test decides when the pauses end. */
function limited({ random = () => 0.5, fetch: own } = {}) {
  const pauses = []
  const attempts = new Map()
  const fetch = async (url) => {
    const id = new URL(url).searchParams.get('n')
    attempts.set(id, (attempts.get(id) ?? 0) + 1)
    if (attempts.get(id) > 1) return Response.json(health)
    return own?.() ?? Response.json({}, { status: 429, headers: { 'retry-after-ms': '1000' } })
  }
  const sleep = (ms, signal) =>
    new Promise((resolve) => {
      pauses.push({ ms, end: resolve })
      signal?.addEventListener('abort', resolve)
    })
  const postern = fakeClient(fetch, { [HOOKS]: { sleep, random } })
  const call = (n, options) => postern.health.get({ query: { n }, ...options })
  const waiting = async (count) => {
    while (pauses.length < count) await setImmediate()
  }
  return { call, pauses, waiting }
}

test('calls that wait for the server at the same time come back apart', async () => {
  const { call, pauses, waiting } = limited()
  const calls = Array.from({ length: 300 }, (_, n) => call(n))
  await waiting(300)
  const expected = Array.from({ length: 300 }, (_, n) => 1000 + 0.875 * Math.min(100 * n, 10_000))
  assert.deepEqual(
    pauses.map(({ ms }) => ms),
    expected,
  )
  for (const { end } of pauses) end()
  assert.equal((await Promise.all(calls)).length, 300)
  const [alone] = [call('alone')]
  await waiting(301)
  assert.equal(pauses[300].ms, 1000) // no other call is waiting anymore, so the pause is exact
  pauses[300].end()
  await alone
})

test('an aborted call leaves the count, and pauses that the server did not ask for are not in it', async () => {
  const { call, pauses, waiting } = limited()
  const controller = new AbortController()
  const first = call(1, { signal: controller.signal })
  await waiting(1)
  controller.abort()
  await assert.rejects(first, APIAbortedError)
  const second = call(2)
  await waiting(2)
  const third = call(3)
  await waiting(3)
  assert.deepEqual(
    pauses.map(({ ms }) => ms),
    [1000, 1000, 1087.5],
  )
  for (const { end } of pauses) end()
  await Promise.all([second, third])
  const other = limited({ random: () => 0, fetch: () => Response.json({}, { status: 500 }) })
  const own = [other.call(1), other.call(2)]
  await other.waiting(2)
  assert.deepEqual(
    other.pauses.map(({ ms }) => ms),
    [500, 500],
  )
  for (const { end } of other.pauses) end()
  await Promise.all(own)
})
