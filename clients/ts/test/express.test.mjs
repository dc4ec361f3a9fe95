// The chat handler for Express, with requests and responses that the tests control: back pressure, and visitors who
// disconnect.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createChatHandler } from '@postern-ai/client/express'

const pieces = 50

/** A client that counts the events that were taken from it, and records when reading its stream stopped. */
function counting() {
  const client = {
    taken: 0,
    ai: {
      async chat(_params, { signal }) {
        client.signal = signal
        return (async function* () {
          while (client.taken < pieces) {
            signal.throwIfAborted()
            client.taken++
            yield { type: 'delta', text: 'x' }
          }
        })()
      },
    },
  }
  return client
}

/** A response whose buffer is full after each write, until the test drains it. */
class Slow extends EventEmitter {
  written = 0
  ended = false
  destroyed = false
  writableEnded = false
  writeHead(status, headers) {
    Object.assign(this, { status, headers })
  }
  write() {
    this.written++
    this.emit('written')
    return false
  }
  end() {
    this.ended = true
    this.emit('ended')
  }
}

function request() {
  const body = new PassThrough()
  body.end(JSON.stringify({ messages: [{ role: 'user', content: 'x' }] }))
  return Object.assign(body, { method: 'POST', headers: { 'content-type': 'application/json', host: 'a' } })
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('waits for a slow visitor', async () => {
  const [client, response] = [counting(), new Slow()]
  const handled = createChatHandler({ client, authorize: () => true })(request(), response)
  for (let sent = 1; sent <= pieces; sent++) {
    if (response.written < sent) await once(response, 'written')
    await settled()
    assert.deepEqual([response.written, client.taken], [sent, sent])
    response.emit('drain')
  }
  await once(response, 'written') // [DONE]
  await settled()
  response.emit('drain')
  await handled
  assert.equal(response.ended, true)
  assert.equal(response.status, 200)
})

test('a visitor who leaves while the buffer is full', async () => {
  const [client, response] = [counting(), new Slow()]
  const errors = []
  const onError = (error) => errors.push(error)
  const handled = createChatHandler({ client, authorize: () => true, onError })(request(), response)
  await once(response, 'written')
  response.destroyed = true
  response.emit('close')
  await handled
  assert.equal(client.signal.aborted, true)
  assert.ok(client.taken <= 2, `${client.taken} events taken`)
  assert.equal(response.ended, false)
  assert.deepEqual(errors, [])
  assert.deepEqual([response.listenerCount('drain'), response.listenerCount('close')], [0, 0])
})

test('a visitor who leaves during authorization', async () => {
  const [client, response] = [counting(), new Slow()]
  const authorize = async () => {
    response.destroyed = true
    response.emit('close')
    return true
  }
  await createChatHandler({ client, authorize })(request(), response)
  assert.equal(client.taken, 0)
})

test('a response that other middleware has sent', async () => {
  const [client, response] = [counting(), new Slow()]
  response.writeHead = () => {
    throw new Error('ERR_HTTP_HEADERS_SENT')
  }
  const errors = []
  const onError = (error) => errors.push(error.message)
  await createChatHandler({ client, authorize: () => true, onError })(request(), response)
  assert.deepEqual(errors, ['ERR_HTTP_HEADERS_SENT'])
  assert.equal(client.signal.aborted, true)
})
