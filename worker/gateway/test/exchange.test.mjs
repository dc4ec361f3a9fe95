// Tests how src/exchange.ts carries out actions, with a stub core.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import {
  ACTION_CALL,
  ACTION_CANCEL,
  ACTION_FETCH,
  ACTION_FORWARD,
  ACTION_JOIN,
  ACTION_KEEP,
  ACTION_LOG,
  ACTION_READ,
  ACTION_RESPOND,
  ACTION_UNSEAL,
  ACTION_WAIT,
  ACTION_WRITE,
  Action,
  CLASS_KEY_METER,
  EVENT_FAULT,
  EVENT_REQUEST,
  EVENT_RESPONSE,
  EVENT_STORED,
  EVENT_SUPPLIED,
  EVENT_TIMER,
  FAULT_HEAD,
  FAULT_TOTAL,
  LOG_ERROR,
  LOG_INFO,
  LOG_NONE,
  NO_BYTES,
  OUTCOME_ABSENT,
  OUTCOME_UNSUPPORTED,
  WHERE_COLO,
  WHERE_KV,
  WHERE_MEMORY,
} from '../src/abi.ts'
import { serve } from '../src/host.ts'
import { Isolate } from '../src/isolate.ts'
import { unseal } from '../src/unseal.ts'

// Missing in Node 22.
Uint8Array.prototype.toHex ??= function toHex() {
  return Buffer.from(this).toString('hex')
}

const CONFIGURED = {
  error: '',
  requestHeaders: [],
  responseHeaders: [],
  memoryBytes: 1000,
  memoryEntryBytes: 1000,
  memoryOverheadBytes: 0,
  pinnedEntries: 2,
  kvCacheSeconds: 60,
  lastResortStatus: 500,
  lastResortHeaders: [],
  lastResortBody: [NO_BYTES, NO_BYTES],
}
const text = (data) => new TextDecoder().decode(data)
const hex = (digits) => Uint8Array.from(Buffer.from(digits, 'hex'))

let logged
beforeEach(() => {
  logged = ''
  console.error = (line) => {
    logged += `${line}\n`
  }
})

const action = (kind, fields) => Object.assign(new Action(), { kind }, fields)

// Serves a request with a stub core, whose function step(event) returns actions. Returns the response when the
// exchange is over.
async function exchange(step, request, env = {}, colo = undefined) {
  const engine = {
    start: () => CONFIGURED,
    step: (_nowMs, _shared, _state, _attached, _pinned, event) => ({
      sharedChanged: false,
      state: NO_BYTES,
      actions: step(event),
    }),
  }
  const waiting = []
  const ctx = { waitUntil: (promise) => waiting.push(promise) }
  const response = await serve(new Isolate(engine, colo), request, env, ctx)
  await Promise.all(waiting)
  return response
}

const respond = (status, body = '') =>
  action(ACTION_RESPOND, { code: status, headers: [], body: [{ buffer: 0, data: new TextEncoder().encode(body) }] })

// These values are also in host/unseal_test.go. The ciphertext was made with OpenSSL.
const KEY = '/v/pkoZlcxxtao+UZzCDCP7/6ZKGZXMcbWqPlGcwgwg='
const OTHER = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const SHORT = 'AAECAwQFBgcICQoLDA0ODw=='
const AAD = 'project/proj_é/openai'
const PLAIN = 'sk-provider-key'
const SEALED = hex('cafebabefacedbaddecaf888f877dea513bd0d8b35434c4bee141d0f3c9e5d8ebc8b82004188d6d7c77c02')

// Stores sealed in buffer 7 and unseals a buffer. Returns `<outcome> <plaintext> buffer <the buffer's content>`.
async function unsealed(buffer, key, name, sealed) {
  const step = ({ kind, id, code, data }) => {
    if (kind === EVENT_REQUEST) {
      return [action(ACTION_KEEP, { buffer: 7, data: sealed }), action(ACTION_UNSEAL, { id: 4, buffer, key, name })]
    }
    assert.deepEqual([kind, id], [EVENT_SUPPLIED, 4])
    const result = new TextEncoder().encode(`${code} ${text(data)} buffer `)
    const body = [
      { buffer: 0, data: result },
      { buffer, data: NO_BYTES },
    ]
    return [action(ACTION_RESPOND, { code: 200, headers: [], body })]
  }
  const response = await exchange(step, new Request('http://gateway.example/'))
  return text(await response.arrayBuffer())
}

test('unseals a buffer without changing it, and logs nothing', async () => {
  assert.equal(await unsealed(7, KEY, AAD, SEALED), `0 ${PLAIN} buffer ${text(SEALED)}`)
  // The same again, now with the cached CryptoKey.
  assert.equal(await unsealed(7, KEY, AAD, SEALED), `0 ${PLAIN} buffer ${text(SEALED)}`)
  assert.equal(logged, '')
})

const flipped = SEALED.slice()
flipped[14] ^= 1
for (const [name, key, additional, sealed, buffer = 7] of [
  ['wrong key', OTHER, AAD, SEALED],
  ['short key', SHORT, AAD, SEALED],
  ['malformed base64', `!${KEY.slice(1)}`, AAD, SEALED],
  ['no key', '', AAD, SEALED],
  ['wrong AAD', KEY, `${AAD}x`, SEALED],
  ['no AAD', KEY, '', SEALED],
  ['flipped bit', KEY, AAD, flipped],
  ['one byte short', KEY, AAD, SEALED.slice(0, -1)],
  ['shorter than nonce and tag', KEY, AAD, SEALED.slice(0, 27)],
  ['nonce only', KEY, AAD, SEALED.slice(0, 12)],
  ['one byte too long', KEY, AAD, Uint8Array.from([...SEALED, 0])],
  ['empty', KEY, AAD, NO_BYTES],
  ['unwritten buffer', KEY, AAD, SEALED, 6],
]) {
  test(`unseal fails: ${name}`, async () => {
    const content = buffer === 7 ? text(sealed) : ''
    assert.equal(await unsealed(buffer, key, additional, sealed), `2  buffer ${content}`)
    assert.equal(logged, '')
  })
}

test('unseals with more keys than are cached', async () => {
  const plain = new TextEncoder().encode(PLAIN)
  const iv = new Uint8Array(12)
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 20; i++) {
      const raw = new Uint8Array(32).fill(i)
      const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt'])
      const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain)
      const message = Uint8Array.from([...iv, ...new Uint8Array(sealed)])
      assert.equal(text(await unseal(Buffer.from(raw).toString('base64'), '', message)), PLAIN)
    }
  }
})

test("forward: the core's headers and the address replace the client's headers of the same names", async () => {
  let got
  const CONTROL = {
    fetch: async (request) => {
      const names = ['x-request-id', 'x-postern-client', 'x-new', 'x-kept', 'x-postern-address']
      const { method, url, redirect } = request
      got = {
        method,
        url,
        redirect,
        body: await request.text(),
        headers: names.map((name) => request.headers.get(name)),
      }
      return new Response('created', { status: 201 })
    },
  }
  const fields = ['x-request-id', 'req_core', 'x-postern-client', 'core', 'x-new', '1']
  const step = ({ kind }) => (kind === EVENT_REQUEST ? [action(ACTION_FORWARD, { id: 1, headers: fields })] : [])
  const headers = [
    ['x-request-id', 'forged'],
    ['x-postern-client', 'forged'],
    ['x-postern-client', 'twice'],
    ['x-kept', 'kept'],
    ['x-postern-address', '198.51.100.1'],
    ['cf-connecting-ip', '192.0.2.1'],
  ]
  const url = 'http://gateway.example/api/admin/projects?a=b'
  const response = await exchange(step, new Request(url, { method: 'POST', headers, body: 'body' }), { CONTROL })
  assert.deepEqual([response.status, await response.text()], [201, 'created'])
  assert.deepEqual(got, {
    method: 'POST',
    url,
    redirect: 'manual',
    body: 'body',
    headers: ['req_core', 'core', '1', 'kept', '192.0.2.1'],
  })
})

test("forward: without an address from the platform, the client's address header is removed", async () => {
  let address
  const CONTROL = {
    fetch: async (request) => {
      address = request.headers.get('x-postern-address')
      return new Response()
    },
  }
  const step = ({ kind }) => (kind === EVENT_REQUEST ? [action(ACTION_FORWARD, { id: 1, headers: [] })] : [])
  await exchange(step, new Request('http://gateway.example/', { headers: { 'x-postern-address': '192.0.2.1' } }), {
    CONTROL,
  })
  assert.equal(address, null)
})

test('the core gets the address and the unchanged method, path and query', async () => {
  for (const [headers, address] of [
    [{ 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '198.51.100.1' }, '192.0.2.1'],
    [{ 'x-forwarded-for': '198.51.100.1' }, ''],
  ]) {
    let fields
    const step = ({ headers }) => {
      fields = Object.fromEntries(Array.from({ length: headers.length / 2 }, (_, i) => headers.slice(2 * i, 2 * i + 2)))
      return [respond(200)]
    }
    await exchange(step, new Request('http://gateway.example/a//b/?q', { method: 'HEAD', headers }))
    assert.equal(fields[':address'], address)
    assert.equal(fields[':method'], 'HEAD')
    assert.deepEqual([fields[':path'], fields[':query']], ['/a//b/', 'q'])
  }
})

const failure = (marks) => Object.assign(new Error('secret'), marks)

for (const [name, errors, calls, log] of [
  ['success', [], 1, ''],
  ['unavailable once', [failure({ retryable: true })], 2, ''],
  ['unavailable twice', [failure({ retryable: true }), failure({ retryable: true })], 2, 'call_failed'],
  ['overloaded', [failure({ retryable: true, overloaded: true })], 1, 'call_failed'],
  ['failure', [failure({})], 1, 'call_failed'],
]) {
  test(`unawaited call: ${name}`, async () => {
    let called = 0
    let unblock
    const responded = new Promise((resolve) => {
      unblock = resolve
    })
    const call = async () => {
      await responded // the response must not wait for the call
      const error = errors[called++]
      if (error !== undefined) throw error
      return NO_BYTES
    }
    const KEY_METER = { idFromName: (name) => name, get: () => ({ call }) }
    const kinds = []
    const engine = {
      start: () => CONFIGURED,
      step: (_nowMs, _shared, _state, _attached, _pinned, { kind }) => {
        kinds.push(kind)
        const unawaited = action(ACTION_CALL, { id: 0, class: CLASS_KEY_METER, name: '00', data: NO_BYTES })
        return { sharedChanged: false, state: NO_BYTES, actions: [unawaited, respond(200)] }
      },
    }
    const waiting = []
    const ctx = { waitUntil: (promise) => waiting.push(promise) }
    const request = new Request('http://gateway.example/')
    const response = await serve(new Isolate(engine), request, { KEY_METER }, ctx)
    assert.deepEqual([response.status, called, waiting.length], [200, 0, 1])
    unblock()
    await Promise.all(waiting)
    assert.deepEqual([called, kinds], [calls, [EVENT_REQUEST]])
    assert.equal(logged.includes(log) && !logged.includes('secret'), true, logged)
    assert.equal(logged === '', log === '')
  })
}

for (const [where, outcome] of [
  [WHERE_MEMORY, OUTCOME_ABSENT],
  [WHERE_KV, OUTCOME_ABSENT],
  [WHERE_MEMORY | WHERE_KV, OUTCOME_ABSENT],
  [4, OUTCOME_UNSUPPORTED],
  [4 | WHERE_MEMORY, OUTCOME_ABSENT],
  [4 | WHERE_KV, OUTCOME_ABSENT],
  [0, OUTCOME_UNSUPPORTED],
]) {
  test(`a read in tiers ${where} has outcome ${outcome}`, async () => {
    const KV = {
      get: async (_key, { cacheTtl }) => {
        assert.equal(cacheTtl, CONFIGURED.kvCacheSeconds)
        return null
      },
    }
    const step = ({ kind, code }) =>
      kind === EVENT_REQUEST ? [action(ACTION_READ, { id: 1, key: 'a', where })] : [respond(200, String(code))]
    const response = await exchange(step, new Request('http://gateway.example/'), { KV })
    assert.equal(await response.text(), String(outcome))
  })
}

for (const [where, colo, outcome] of [
  [0, true, OUTCOME_UNSUPPORTED],
  [WHERE_COLO, true, OUTCOME_ABSENT],
  [WHERE_COLO, false, OUTCOME_UNSUPPORTED],
  [WHERE_KV, false, OUTCOME_ABSENT],
  [WHERE_KV | WHERE_COLO, false, OUTCOME_ABSENT],
]) {
  test(`a leader that would look in stores ${where}, with a cache: ${colo}, has outcome ${outcome}`, async () => {
    const step = ({ kind, code }) =>
      kind === EVENT_REQUEST ? [action(ACTION_JOIN, { id: 1, name: 'flight', where })] : [respond(200, String(code))]
    const response = await exchange(step, new Request('http://gateway.example/'), {}, { available: colo })
    assert.equal(await response.text(), String(outcome))
  })
}

test('failures are logged as codes, without error texts', async () => {
  const secret = () => Promise.reject(new TypeError('https://user:secret@upstream.example/?key=secret'))
  const KV = { get: secret, put: secret }
  const KEY_METER = { idFromName: (name) => name, get: () => ({ call: secret }) }
  const CONTROL = { fetch: secret }
  const step = ({ kind, id }) => {
    if (kind === EVENT_REQUEST) {
      return [
        action(ACTION_READ, { id: 1, key: 'a', where: WHERE_KV }),
        action(ACTION_WRITE, { key: 'a', where: WHERE_KV, body: [{ buffer: 0, data: hex('00') }] }),
        action(ACTION_CALL, { id: 2, class: CLASS_KEY_METER, name: '00', data: NO_BYTES }),
        action(ACTION_FORWARD, { id: 3, headers: [] }),
      ]
    }
    if (id === 3) throw new Error('secret')
    return []
  }
  const response = await exchange(step, new Request('http://gateway.example/secret?secret'), { KV, KEY_METER, CONTROL })
  assert.equal(response.status, 500)
  assert.doesNotMatch(logged, /secret|https/)
  const codes = logged
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).code)
  assert.deepEqual(codes.sort(), [
    'call_failed',
    'control_unreachable',
    'kv_read_failed',
    'kv_write_failed',
    'step_failed',
  ])
})

test('a configuration error is logged', async () => {
  const engine = { start: () => ({ ...CONFIGURED, error: 'catalog must be valid JSON' }) }
  const request = new Request('http://gateway.example/')
  const response = await serve(new Isolate(engine), request, {}, {})
  assert.equal(response.status, 500)
  assert.match(logged, /"code":"misconfigured"/)
  assert.match(logged, /catalog must be valid JSON/)
})

test('the late result of a canceled read is not delivered to the next read with its ID', async () => {
  const KV = {
    get: async (key) => {
      await new Promise((resolve) => setTimeout(resolve, key === 'old' ? 30 : 90))
      return new TextEncoder().encode(key).buffer
    },
  }
  const read = (key) => action(ACTION_READ, { id: 4, key, where: WHERE_KV, keepMs: 0 })
  const response = await exchange(
    ({ kind, data }) => {
      if (kind === EVENT_REQUEST) return [read('old'), action(ACTION_WAIT, { id: 6, keepMs: 1 })]
      if (kind === EVENT_TIMER) return [action(ACTION_CANCEL, { id: 4 }), read('new')]
      assert.equal(kind, EVENT_STORED)
      return [action(ACTION_RESPOND, { code: 200, headers: [], body: [{ buffer: 0, data }] })]
    },
    new Request('http://gateway.example/'),
    { KV },
  )
  assert.equal(await response.text(), 'new')
})

test('a canceled fetch has no result, and the next fetch with its ID has only its own', async () => {
  globalThis.fetch = async (url) => {
    await new Promise((resolve) => setTimeout(resolve, url.endsWith('old') ? 30 : 90))
    return new Response(url, { headers: { 'content-length': String(url.length) } })
  }
  const events = []
  const fetching = (name, fields) =>
    action(ACTION_FETCH, { id: 4, buffer: 5, limit: 1000, url: `http://p.example/${name}`, ...fields })
  const response = await exchange((event) => {
    const { kind, data } = event
    if (kind === EVENT_REQUEST) return [fetching('old'), action(ACTION_WAIT, { id: 6, keepMs: 1 })]
    if (kind === EVENT_TIMER) return [action(ACTION_CANCEL, { id: 4 }), fetching('new')]
    events.push([kind, text(data)])
    return [respond(200, text(data))]
  }, new Request('http://gateway.example/'))
  assert.equal(await response.text(), 'http://p.example/new')
  assert.deepEqual(events, [[EVENT_RESPONSE, 'http://p.example/new']])
})

for (const [name, fields, fault] of [
  ['the head', { headMs: 20 }, FAULT_HEAD],
  ['all of it', { totalMs: 20 }, FAULT_TOTAL],
]) {
  test(`a fetch whose timeout for ${name} has passed has one fault, and its late response is dropped`, async () => {
    const late = Promise.withResolvers()
    globalThis.fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      setTimeout(late.resolve)
      return new Response('late', { headers: { 'content-length': '4' } })
    }
    const events = []
    const response = await exchange((event) => {
      if (event.kind === EVENT_REQUEST)
        return [action(ACTION_FETCH, { id: 4, buffer: 5, limit: 1000, url: 'http://p.example/', ...fields })]
      events.push([event.kind, event.code])
      return [respond(504)]
    }, new Request('http://gateway.example/'))
    await late.promise
    assert.equal(response.status, 504)
    assert.deepEqual(events, [[EVENT_FAULT, fault]])
  })
}

test('repeated headers of a response stay repeated', async () => {
  const headers = ['set-cookie', 'a=1', 'x-other', 'b', 'set-cookie', 'c=2']
  const step = () => [action(ACTION_RESPOND, { code: 200, headers, body: [] })]
  const response = await exchange(step, new Request('http://gateway.example/'))
  assert.deepEqual([response.headers.getSetCookie(), response.headers.get('x-other')], [['a=1', 'c=2'], 'b'])
})

for (const [name, code, output] of [
  ['an info line', LOG_INFO, ['log', '{"status":200}']],
  ['an error line', LOG_ERROR, ['error', '{"status":200}']],
  ['no line', LOG_NONE, undefined],
]) {
  test(`logs ${name}`, async () => {
    const { log } = console
    const lines = []
    console.log = (line) => lines.push(['log', line])
    console.error = (line) => lines.push(['error', line])
    const step = () => [action(ACTION_LOG, { code, data: new TextEncoder().encode('{"status":200}') }), respond(200)]
    try {
      await exchange(step, new Request('http://gateway.example/'))
    } finally {
      console.log = log
    }
    assert.deepEqual(lines, output === undefined ? [] : [output])
  })
}

test('bodies are copied before the core reuses its memory, and the memory is let go of', async () => {
  const memory = new Uint8Array(8)
  const fetched = Promise.withResolvers()
  const actions = []
  const inMemory = (kind, fields, body) => {
    memory.set(new TextEncoder().encode(body))
    const made = action(kind, { ...fields, body: [{ buffer: 0, data: memory.subarray(0, body.length) }] })
    actions.push(made)
    return made
  }
  globalThis.fetch = async (_url, { body }) => {
    await new Promise(setImmediate) // the core has run again
    fetched.resolve(text(body))
    return new Response('ok', { headers: { 'content-length': '2' } })
  }
  const steps = {
    [EVENT_REQUEST]: () => [
      inMemory(ACTION_WRITE, { key: 'a', where: WHERE_MEMORY, keepMs: 60_000 }, 'stored'),
      action(ACTION_READ, { id: 1, key: 'b', where: WHERE_MEMORY }),
    ],
    [EVENT_STORED]: ({ id, data }) => {
      if (id === 2) return [inMemory(ACTION_RESPOND, { code: 200 }, text(data))]
      return [
        inMemory(ACTION_FETCH, { id: 3, url: 'http://provider.test/', method: 'POST', limit: 100 }, 'sent'),
        action(ACTION_READ, { id: 2, key: 'a', where: WHERE_MEMORY }),
      ]
    },
    [EVENT_RESPONSE]: () => [],
  }
  const step = (event) => {
    memory.fill(0x21)
    return steps[event.kind](event)
  }
  const response = await exchange(step, new Request('http://gateway.test/'))
  assert.equal(await response.text(), 'stored')
  assert.equal(await fetched.promise, 'sent')
  const sending = actions.find(({ kind }) => kind === ACTION_FETCH)
  assert.deepEqual(sending.body, []) // an open fetch would keep a replaced core alive
})
