// Tests src/post.ts against a local server.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, beforeEach, mock, test } from 'node:test'
import { POST_TIMEOUT_MS } from '../src/abi.ts'
import { sendPost } from '../src/post.ts'

const body = new TextEncoder().encode('{"n":1}')
let server
let origin
let received

before(async () => {
  server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    received.push({ method: request.method, url: request.url, headers: request.headers, text })
    handlers[request.url.split('?')[0]](response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${server.address().port}`
})

after(() => {
  server.closeAllConnections()
  server.close()
})

beforeEach(() => {
  received = []
})

const handlers = {
  '/ok': (response) => response.writeHead(202).end('thanks'),
  '/moved': (response) => response.writeHead(308, { location: '/ok' }).end(),
  '/broken': (response) => response.socket.destroy(),
  '/endless': (response) => response.writeHead(200).write('x'.repeat(100_000)),
  '/hangs': () => undefined,
}

const send = (path, headers = []) => sendPost({ id: '1', url: origin + path, headers, body })

test('sends method, headers and body, and returns the status', async () => {
  assert.equal(await send('/ok?a=b', ['content-type', 'application/json', 'x-signature', 'v1=00']), 202)
  assert.equal(received.length, 1)
  const { method, url, headers, text } = received[0]
  assert.deepEqual([method, url, text], ['POST', '/ok?a=b', '{"n":1}'])
  assert.deepEqual([headers['content-type'], headers['x-signature']], ['application/json', 'v1=00'])
})

test('does not follow redirects', async () => {
  assert.equal(await send('/moved'), 308)
  assert.deepEqual(
    received.map(({ url }) => url),
    ['/moved'],
  )
})

test('does not wait for the end of the response', async () => {
  assert.equal(await send('/endless'), 200)
})

test('status 0: connection aborted, connection refused, malformed URL or header', async () => {
  assert.equal(await send('/broken'), 0)
  assert.equal(await sendPost({ id: '1', url: 'http://127.0.0.1:1/', headers: [], body }), 0)
  assert.equal(await sendPost({ id: '1', url: 'no URL', headers: [], body }), 0)
  assert.equal(await send('/ok', ['bad name', 'x']), 0)
  assert.equal(received.filter(({ url }) => url === '/ok').length, 0)
})

test('times out', async () => {
  const timeout = AbortSignal.timeout
  const mocked = mock.method(AbortSignal, 'timeout', () => timeout.call(AbortSignal, 20))
  assert.equal(await send('/hangs'), 0)
  assert.deepEqual(mocked.mock.calls[0].arguments, [POST_TIMEOUT_MS])
  assert.equal(POST_TIMEOUT_MS, 10_000)
  mocked.mock.restore()
})
