import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Action, FAULT_BROKEN, FAULT_CONNECT, FAULT_TOTAL } from '../src/abi.ts'
import { Fetch } from '../src/fetch.ts'

globalThis.scheduler = { wait: (ms) => sleep(ms) }

/** A provider's stream: chunks in quick succession, then the end or the error of a broken connection. */
function respond(chunks, broken) {
  let sent = 0
  const body = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (sent < chunks) return controller.enqueue(new Uint8Array([sent++]))
      if (broken) return controller.error(new Error('connection reset'))
      controller.close()
      controller.byobRequest?.respond(0)
    },
  })
  globalThis.fetch = async () => new Response(body)
}

/** Fetches with a client that needs some time for each chunk. The chunks that arrive in that time are held. */
function fetching(taking, options) {
  const action = Object.assign(new Action(), {
    stream: 200,
    limit: 64 << 10,
    totalMs: 10_000,
    url: 'http://provider.test/',
    ...options,
  })
  const got = []
  const { promise: answer, resolve: end } = Promise.withResolvers()
  const upstream = new Fetch(action, [], {
    head() {},
    chunk: (data) => {
      got.push(...data)
      return taking()
    },
    end,
  })
  upstream.send(new Uint8Array(0))
  return { got, upstream, answer }
}

const all = Array.from({ length: 40 }, (_, i) => i)
const slow = () => sleep(1)
const stuck = () => new Promise(() => {})

for (const [client, taking] of [
  ['slow', slow],
  ['stuck', stuck],
]) {
  for (const [name, broken, fault] of [
    ['ends', false, 0],
    ['breaks', true, FAULT_BROKEN],
  ]) {
    test(`everything that arrived is delivered when a stream ${name}, with a ${client} client`, async () => {
      respond(40, broken)
      const { got, answer } = fetching(taking, { idleMs: 200, totalMs: 5000 })
      assert.equal((await answer).fault, fault)
      assert.deepEqual(got, all)
    })
  }
}

test('the total timeout cuts a stream that waits for a stuck client, and delivers what has arrived', async () => {
  respond(1000, false)
  const { got, answer } = fetching(stuck, { limit: (32 << 10) + 100, totalMs: 300 })
  assert.equal((await answer).fault, FAULT_TOTAL)
  assert.ok(got.length > 100 && got.length < 1000, `${got.length} bytes`)
})

test('an abort ends a stream that waits for a stuck client', async () => {
  respond(1000, false)
  const { upstream, answer } = fetching(stuck, { limit: (32 << 10) + 100 })
  await sleep(100)
  upstream.abort(FAULT_CONNECT)
  assert.equal((await answer).fault, FAULT_CONNECT)
})

/** Fetches a stream. Pauses it at its first chunk and, after it has resumed, at the chunk with byte 20. */
function pausing(chunks, broken, options) {
  respond(chunks, broken)
  const paused = []
  let onPause
  const next = () =>
    new Promise((resolve) => {
      onPause = resolve
    })
  const wait = { first: next() }
  const fetched = fetching(() => {
    const { got, upstream } = fetched
    if (paused.length === 0 || (paused.length === 1 && got.includes(20))) {
      paused.push(got.length)
      upstream.pause()
      queueMicrotask(onPause)
    }
    return undefined
  }, options)
  return { ...fetched, paused, next, wait }
}

for (const [name, broken, fault] of [
  ['ends', false, 0],
  ['breaks', true, FAULT_BROKEN],
]) {
  test(`a paused stream that ${name} delivers nothing until it resumes, and has no idle timeout`, async () => {
    const { got, upstream, answer, paused, next, wait } = pausing(40, broken, { idleMs: 60 })
    await wait.first
    await sleep(150)
    assert.equal(got.length, paused[0])
    const again = next()
    upstream.resume()
    await again
    await sleep(150)
    assert.equal(got.length, paused[1])
    let settled = false
    void answer.then(() => {
      settled = true
    })
    await sleep(10)
    assert.ok(!settled, 'the end arrived during the pause')
    upstream.resume()
    assert.equal((await answer).fault, fault)
    assert.deepEqual(got, all)
  })
}

test('the total timeout cuts a paused stream, and delivers nothing more', async () => {
  const { got, answer, paused } = pausing(1000, false, { totalMs: 200 })
  assert.equal((await answer).fault, FAULT_TOTAL)
  assert.equal(got.length, paused[0])
})

test('an abort ends a paused stream', async () => {
  const { upstream, answer, wait } = pausing(1000, false, {})
  await wait.first
  upstream.abort(FAULT_CONNECT)
  assert.equal((await answer).fault, FAULT_CONNECT)
})
