// src/exchange.ts with a core of the test's own: what core actions become on this host.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import {
  ACTION_CANCEL,
  ACTION_FORWARD,
  ACTION_KEEP,
  ACTION_READ,
  ACTION_RESPOND,
  ACTION_UNSEAL,
  ACTION_WAIT,
  Action,
  EVENT_REQUEST,
  EVENT_STORED,
  EVENT_SUPPLIED,
  EVENT_TIMER,
  NO_BYTES,
  WHERE_KV,
} from '../src/abi.ts'
import { serve } from '../src/exchange.ts'
import { unseal } from '../src/unseal.ts'

// Node 22 does not have it yet.
Uint8Array.prototype.toHex ??= function toHex() {
  return Buffer.from(this).toString('hex')
}

const CONFIGURED = { error: '', requestHeaders: [], responseHeaders: [] }
const text = (data) => new TextDecoder().decode(data)
const hex = (digits) => Uint8Array.from(Buffer.from(digits, 'hex'))

let logged
beforeEach(() => {
  logged = ''
  console.error = (line) => {
    logged += line
  }
})

const action = (kind, fields) => Object.assign(new Action(), { kind }, fields)

// Answers a request with a core that is step(event) -> actions.
async function exchange(step, request, env = {}) {
  const core = {
    start: () => CONFIGURED,
    step: (_nowMs, _shared, _state, event) => ({ shared: undefined, state: NO_BYTES, actions: step(event) }),
  }
  const waiting = []
  const ctx = { waitUntil: (promise) => waiting.push(promise) }
  const response = await serve({ core, shared: NO_BYTES }, request, env, ctx)
  await Promise.all(waiting)
  return response
}

// The same values as in host/unseal_test.go. OpenSSL made the ciphertext.
const KEY = '/v/pkoZlcxxtao+UZzCDCP7/6ZKGZXMcbWqPlGcwgwg='
const OTHER = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const SHORT = 'AAECAwQFBgcICQoLDA0ODw=='
const AAD = 'project/proj_é/openai'
const PLAIN = 'sk-provider-key'
const SEALED = hex('cafebabefacedbaddecaf888f877dea513bd0d8b35434c4bee141d0f3c9e5d8ebc8b82004188d6d7c77c02')

// Unseals what was kept as buffer 7 by way of buffer, and gives `<outcome> <plaintext> left <buffer>`.
async function unsealed(buffer, key, name, sealed) {
  const step = ({ kind, id, code, data }) => {
    if (kind === EVENT_REQUEST) {
      return [action(ACTION_KEEP, { buffer: 7, data: sealed }), action(ACTION_UNSEAL, { id: 4, buffer, key, name })]
    }
    assert.deepEqual([kind, id], [EVENT_SUPPLIED, 4])
    const said = new TextEncoder().encode(`${code} ${text(data)} left `)
    const body = [
      { buffer: 0, data: said },
      { buffer, data: NO_BYTES },
    ]
    return [action(ACTION_RESPOND, { code: 200, headers: [], body })]
  }
  const response = await exchange(step, new Request('http://gateway.example/'))
  return text(await response.arrayBuffer())
}

test('unseals a buffer, and keeps nothing of it', async () => {
  assert.equal(await unsealed(7, KEY, AAD, SEALED), `0 ${PLAIN} left ${text(SEALED)}`)
  // Again, by the key that was kept.
  assert.equal(await unsealed(7, KEY, AAD, SEALED), `0 ${PLAIN} left ${text(SEALED)}`)
  assert.equal(logged, '')
})

const flipped = SEALED.slice()
flipped[14] ^= 1
for (const [name, key, additional, sealed, buffer = 7] of [
  ['a wrong key', OTHER, AAD, SEALED],
  ['a short key', SHORT, AAD, SEALED],
  ['no base64', `!${KEY.slice(1)}`, AAD, SEALED],
  ['no key', '', AAD, SEALED],
  ['wrong additional data', KEY, `${AAD}x`, SEALED],
  ['no additional data', KEY, '', SEALED],
  ['a flipped bit', KEY, AAD, flipped],
  ['a byte short', KEY, AAD, SEALED.slice(0, -1)],
  ['nonce and tag cut', KEY, AAD, SEALED.slice(0, 27)],
  ['the nonce only', KEY, AAD, SEALED.slice(0, 12)],
  ['a byte too many', KEY, AAD, Uint8Array.from([...SEALED, 0])],
  ['nothing', KEY, AAD, NO_BYTES],
  ['a missing buffer', KEY, AAD, SEALED, 6],
]) {
  test(`does not unseal with ${name}`, async () => {
    const left = buffer === 7 ? text(sealed) : ''
    assert.equal(await unsealed(buffer, key, additional, sealed), `2  left ${left}`)
    assert.equal(logged, '')
  })
}

test('more keys than are kept', async () => {
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

test("a forwarded request has the core's headers in place of the caller's", async () => {
  let got
  const CONTROL = {
    fetch: async (request) => {
      const names = ['x-request-id', 'x-postern-client', 'x-new', 'x-kept']
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
  ]
  const url = 'http://gateway.example/api/admin/projects?a=b'
  const response = await exchange(step, new Request(url, { method: 'POST', headers, body: 'body' }), { CONTROL })
  assert.deepEqual([response.status, await response.text()], [201, 'created'])
  assert.deepEqual(got, {
    method: 'POST',
    url,
    redirect: 'manual',
    body: 'body',
    headers: ['req_core', 'core', '1', 'kept'],
  })
})

test('what comes late of a cancelled read is not the answer to the next one of its id', async () => {
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
