// Tests src/exchange.ts in workerd with a stub core: responses during an upload, HEAD, unusual requests.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { stubWorker } from './stubworker.mjs'

const SIZE = 1 << 20

// The stub core. Its actions depend on the path.
const worker = `
import { ACTION_CANCEL, ACTION_READ_BODY, ACTION_RESPOND, Action, EVENT_BODY, EVENT_REQUEST, NO_BYTES } from '../src/abi.ts'
import { serve } from '../src/host.ts'
import { Isolate } from '../src/isolate.ts'

let rejections = 0
addEventListener('unhandledrejection', () => { rejections++ })
const outcomes = []

const action = (kind, fields) => Object.assign(new Action(), { kind }, fields)
const respond = (code, text) =>
  action(ACTION_RESPOND, { code, headers: [], body: [{ buffer: 0, data: new TextEncoder().encode(text) }] })
const read = (limit) => action(ACTION_READ_BODY, { id: 1, buffer: 1, limit })
const cancel = action(ACTION_CANCEL, { id: 1 })
const paths = {
  '/no-read': () => [respond(401, 'no')],
  '/canceled': () => [read(4 << 20), cancel, respond(401, 'no')],
  '/over-limit': () => [read(1000), cancel, respond(401, 'no')],
  '/read': () => [read(4 << 20)],
  '/head': () => [respond(200, 'x'.repeat(5000))],
  '/fields': (fields) => [respond(200, JSON.stringify(fields))],
  '/observed': () => [respond(200, JSON.stringify({ rejections, outcomes }))],
}

function step(_now, _shared, _state, _attached, _pinned, event) {
  const actions = () => {
    const path = event.headers[event.headers.indexOf(':path') + 1]
    if (event.kind === EVENT_REQUEST) return (paths[path] ?? paths['/fields'])(event.headers)
    if (event.kind !== EVENT_BODY) return []
    outcomes.push(event.code)
    return [respond(200, String(event.data.length))]
  }
  return { sharedChanged: false, state: NO_BYTES, actions: actions() }
}

const configured = {
  error: '', requestHeaders: ['content-encoding', 'x-repeated', 'x-latin1'], responseHeaders: [], memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0,
  kvCacheSeconds: 60, lastResortStatus: 500, lastResortHeaders: [], lastResortBody: [NO_BYTES, NO_BYTES],
}
const isolate = new Isolate({ start: () => configured, step })
export default { fetch: (request, env, ctx) => serve(isolate, request, env, ctx) }
`

const miniflare = await stubWorker(worker)
const { port } = await miniflare.ready
after(() => miniflare.dispose())

/** A raw connection. */
class Wire {
  #text = ''
  #ended = false
  #wake = () => {}

  constructor() {
    this.socket = connect(Number(port), '127.0.0.1')
    this.socket.on('data', (data) => {
      this.#text += data.toString('latin1')
      this.#wake()
    })
    this.socket.on('close', () => {
      this.#ended = true
      this.#wake()
    })
    this.socket.on('error', () => {})
  }

  send(text) {
    return new Promise((resolve) => this.socket.write(text, resolve))
  }

  /** Reads a response with a body of bodyLength bytes, by default content-length. */
  async receive(bodyLength) {
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n') + 4
      if (end >= 4) {
        const head = this.#text.slice(0, end)
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
        const size = bodyLength ?? length
        if (this.#text.length >= end + size) {
          const body = this.#text.slice(end, end + size)
          this.#text = this.#text.slice(end + size)
          return { status: Number(head.split(' ')[1]), length, body }
        }
      }
      if (this.#ended) throw new Error(`the connection ended after ${JSON.stringify(this.#text)}`)
      await new Promise((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

// Returns the unhandled rejections and the results of body reads up to now.
async function observed() {
  const response = await fetch(`http://127.0.0.1:${port}/observed`)
  return await response.json()
}

const framings = {
  'with content-length': [`Content-Length: ${SIZE}\r\n\r\n`, ''],
  'in chunks': [`Transfer-Encoding: chunked\r\n\r\n${SIZE.toString(16)}\r\n`, '\r\n0\r\n\r\n'],
}

for (const path of ['/no-read', '/canceled', '/over-limit']) {
  for (const [framing, [prefix, suffix]] of Object.entries(framings)) {
    test(`${path}: response during an upload ${framing}, and the connection is reused`, async () => {
      const wire = new Wire()
      for (let round = 0; round < 2; round++) {
        await wire.send(`POST ${path} HTTP/1.1\r\nHost: x\r\n${prefix}`)
        for (let sent = 0; sent < SIZE; sent += SIZE / 16) await wire.send('x'.repeat(SIZE / 16))
        await wire.send(suffix)
        assert.deepEqual(await wire.receive(), { status: 401, length: 2, body: 'no' })
      }
      wire.socket.destroy()
      const { rejections, outcomes } = await observed()
      assert.equal(rejections, 0)
      assert.deepEqual(outcomes, [])
    })
  }
}

test('HEAD gets the headers of the response but no body', async () => {
  const wire = new Wire()
  for (const method of ['HEAD', 'GET', 'HEAD']) {
    await wire.send(`${method} /head HTTP/1.1\r\nHost: x\r\n\r\n`)
    const { status, length, body } = await wire.receive(method === 'HEAD' ? 0 : undefined)
    assert.deepEqual([status, length, body.length], [200, 5000, method === 'HEAD' ? 0 : 5000])
  }
  wire.socket.destroy()
})

test('a client disconnects during an upload', async () => {
  const wire = new Wire()
  await wire.send(`POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: ${SIZE}\r\n\r\nhalf`)
  wire.socket.destroy()
  assert.deepEqual(await (await fetch(`http://127.0.0.1:${port}/read`, { method: 'POST', body: 'abc' })).text(), '3')
  const { rejections, outcomes } = await observed()
  assert.equal(rejections, 0)
  assert.ok(outcomes.includes(0))
})

// TestRequestFields in host/odd_test.go tests the Go host.
for (const [target, header, name, want] of [
  ['/fields//b?b?c=%zz', '', ':query', 'b?c=%zz'],
  ['/fields//b?b?c=%zz', '', ':path', '/fields//b'],
  ['//fields', '', ':path', '//fields'],
  ['/fields/%2f%68', '', ':path', '/fields/%2f%68'],
  ['/fields/"a"', '', ':path', '/fields/%22a%22'],
  // The platform resolves dot segments before the Worker gets the request. The Go host does not. No route contains
  // dot segments.
  ['/fields/../x/%2e%2E/y', '', ':path', '/y'],
  ['/fields', 'Cf-Connecting-Ip: 192.0.2.1', ':address', '192.0.2.1'],
  ['/fields', 'X-Forwarded-For: 192.0.2.1', ':address', '127.0.0.1'],
  ['/fields', 'Content-Encoding: gzip', 'content-encoding', 'gzip'],
  ['/fields', 'X-Repeated: a\r\nx-repeated: b', 'x-repeated', 'a, b'],
  ['/fields', 'X-Latin1: \xe9', 'x-latin1', '\u00ef\u00bf\u00bd'], // U+FFFD, read as Latin-1 here
  [`/fields?${'q'.repeat(20_000)}`, '', ':query', 'q'.repeat(20_000)],
]) {
  test(`the core gets ${name} of ${target.slice(0, 30)} with ${JSON.stringify(header)}`, async () => {
    const wire = new Wire()
    await wire.send(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n${header}${header && '\r\n'}\r\n`, 'latin1'))
    const fields = JSON.parse((await wire.receive()).body)
    assert.equal(fields[fields.indexOf(name) + 1], want)
    wire.socket.destroy()
  })
}
