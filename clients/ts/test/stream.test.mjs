// The ways to read a stream: at once, piece by piece, by several readers, or not at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { APIAbortedError, PosternError, StreamError } from '../dist/index.js'
import { EventDecoder } from '../dist/sse.js'
import { bytesOf, delta, done, fakeClient, hello, streamed } from './fake.mjs'

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

/** Starts a stream, and returns it with the server's side. */
async function started(options = {}) {
  let server
  const client = fakeClient(async (_, { signal }) => {
    server = streamed(signal)
    return server.response
  })
  const stream = await client.ai.chat(hello, options)
  return { stream, ...server }
}

async function eventsOf(stream) {
  const events = []
  for await (const event of stream) events.push(event)
  return events
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 5))

test('events arrive as soon as they are sent', async () => {
  const { stream, send } = await started()
  const reader = stream[Symbol.asyncIterator]()
  send(delta('Hi'))
  assert.deepEqual(await reader.next(), { done: false, value: delta('Hi') })
  send(delta(' there'), done)
  assert.deepEqual((await reader.next()).value, delta(' there'))
  assert.deepEqual((await reader.next()).value, done)
  assert.deepEqual(await reader.next(), { done: true, value: undefined })
  assert.deepEqual(await reader.next(), { done: true, value: undefined })
})

test('text, usage and final can be called before, while and after a loop reads, and together', async () => {
  const { stream, send, close } = await started()
  const [before, usage, final] = [stream.text(), stream.usage(), stream.final()]
  send(delta('Hi'), delta(' there'))
  const seen = []
  for await (const event of stream) {
    if (seen.push(event) === 1) {
      send(delta('!'), done)
      assert.equal(await stream.text(), 'Hi there!')
    }
  }
  close()
  assert.deepEqual(seen, [delta('Hi'), delta(' there'), delta('!'), done])
  assert.equal(await before, 'Hi there!')
  assert.equal((await usage).costCents, 0.5)
  assert.equal((await final).text, 'Hi there!')
  assert.equal((await stream.final()).model, 'm')
})

test('the completion does not wait for the end of the response', async () => {
  const { stream, send } = await started()
  send(delta('Hi'), done)
  assert.equal(await stream.text(), 'Hi')
  assert.deepEqual(await eventsOf(stream), [delta('Hi'), done])
})

test('a stream is iterated once, also by its promise', async () => {
  const client = fakeClient(
    async () => new Response(bytesOf([delta('Hi'), done]), { headers: { 'content-type': 'text/event-stream' } }),
  )
  const promise = client.ai.chat(hello)
  assert.deepEqual(await eventsOf(promise), [delta('Hi'), done])
  const stream = await promise
  assert.throws(() => stream[Symbol.asyncIterator](), PosternError)
  assert.equal(await stream.text(), 'Hi')
})

test('a failure is thrown by all readers, after the events before it', async () => {
  const { stream, send, fail } = await started()
  const [text, usage] = [stream.text(), stream.usage()]
  send(delta('Hi'))
  await tick()
  fail(new TypeError('terminated'))
  const events = []
  const loop = (async () => {
    for await (const event of stream) events.push(event)
  })()
  for (const promise of [text, usage, loop, stream.final()]) {
    await assert.rejects(
      promise,
      (error) => error instanceof StreamError && error.code === 'connection_lost' && error.text === 'Hi',
    )
  }
  assert.deepEqual(events, [delta('Hi')])
})

test('a stream may be read later than the timeout after its start', async () => {
  const { stream, send } = await started({ timeout: 20 })
  await new Promise((resolve) => setTimeout(resolve, 60))
  send(delta('Hi'), done)
  assert.equal(await stream.text(), 'Hi')
})

test('abort ends the request and all readers; a part of a text never looks whole', async () => {
  let signal
  const client = fakeClient(async (_, init) => {
    signal = init.signal
    const server = streamed(signal)
    server.send(delta('Hi'))
    return server.response
  })
  const stream = await client.ai.chat(hello)
  const text = stream.text()
  await tick()
  stream.abort()
  assert.equal(signal.aborted, true)
  await assert.rejects(text, APIAbortedError)
  await assert.rejects(stream.usage(), APIAbortedError)
})

test('abort after the end changes nothing', async () => {
  const { stream, send, close } = await started()
  send(delta('Hi'), done)
  close()
  assert.equal(await stream.text(), 'Hi')
  stream.abort()
  assert.equal(await stream.text(), 'Hi')
})

test('a signal that is aborted while nobody reads is seen by the next reader', async () => {
  const controller = new AbortController()
  const { stream } = await started({ signal: controller.signal })
  controller.abort(new Error('enough'))
  await tick()
  await assert.rejects(stream.text(), (error) => error instanceof APIAbortedError && error.cause.message === 'enough')
})

test('a stream that nobody reads rejects nothing', async () => {
  const never = await started()
  never.fail(new TypeError('terminated'))
  const aborted = await started()
  aborted.stream.abort()
  const controller = new AbortController()
  await started({ signal: controller.signal })
  controller.abort()
  const left = await started()
  left.send(delta('Hi'))
  for await (const _ of left.stream) break
  const failing = await started()
  failing.send(delta('Hi'))
  const reader = failing.stream[Symbol.asyncIterator]()
  await reader.next()
  failing.fail(new TypeError('terminated'))
})

test('a validated stream is validated once, however it is read', async () => {
  const source = streamed()
  const { ai } = fakeClient(async () => source.response)
  let validations = 0
  const validate = async (value) => {
    validations++
    await setImmediate()
    return { value: value.city.length }
  }
  const schema = { '~standard': { version: 1, vendor: 'test', validate } }
  const stream = await ai.chat({ ...hello, schema })
  const early = stream.data() // before anything has arrived
  source.send(delta('{"city":'), delta('"Oslo"}'), done)
  source.close()
  const events = await Array.fromAsync(stream)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['delta', 'delta', 'done'],
  )
  assert.deepEqual([await early, await stream.data(), (await stream.final()).data, validations], [4, 4, 4, 1])
  assert.equal(await stream.text(), '{"city":"Oslo"}')
})

test('a validated stream that is left has no data', async () => {
  const source = streamed()
  const { ai } = fakeClient(async () => source.response)
  const schema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
  const stream = await ai.chat({ ...hello, schema })
  source.send(delta('{}'))
  for await (const _ of stream) break
  await assert.rejects(stream.data(), { name: 'APIAbortedError' })
  await assert.rejects(ai.chat({ ...hello, schema: {} }), { name: 'ConfigurationError' })
})

test('no rejection was left without a handler', async () => {
  await tick()
  await tick()
  assert.deepEqual(unhandled, [])
})

test('the decoder gives the same events however the bytes are split', () => {
  const text =
    '\ufeffdata: a\r\n\r\n: comment\ndata: hé€😀\rdata:b\r\rid: 1\n\ndata\n\nevent: x\ndata:  c\n\nretry: 1\r\n\r\ndata: lost'
  const bytes = new TextEncoder().encode(text)
  const expected = ['a', 'hé€😀\nb', '', ' c']
  const decode = (...chunks) => {
    const decoder = new EventDecoder()
    return chunks.flatMap((chunk) => [...decoder.push(chunk)])
  }
  assert.deepEqual(decode(bytes), expected)
  assert.deepEqual(decode(...Array.from(bytes, (byte) => Uint8Array.of(byte))), expected)
  for (let i = 0; i <= bytes.length; i++) {
    for (let j = i; j <= bytes.length; j += 7) {
      assert.deepEqual(decode(bytes.subarray(0, i), bytes.subarray(i, j), bytes.subarray(j)), expected, `${i}, ${j}`)
    }
  }
})
