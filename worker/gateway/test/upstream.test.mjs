import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Action, FAULT_BROKEN } from '../src/abi.ts'
import { Upstream } from '../src/upstream.ts'

globalThis.scheduler = { wait: (ms) => sleep(ms) }

/** A provider's stream: chunks in quick succession, then its end, or the error of a broken connection. */
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

function fetching() {
  const action = Object.assign(new Action(), {
    stream: 200,
    limit: 1000,
    totalMs: 10_000,
    url: 'http://provider.test/',
  })
  const got = []
  const upstream = new Upstream(action, [], {
    head() {},
    chunk: (data) => {
      got.push(...data)
      return sleep(1) // a client takes a while, so the next chunks are held
    },
  })
  return { got, answer: upstream.send(new Uint8Array(0)) }
}

for (const [name, broken, fault] of [
  ['ends', false, 0],
  ['breaks', true, FAULT_BROKEN],
]) {
  test(`everything that arrived is delivered before a stream ${name}`, async () => {
    respond(40, broken)
    const { got, answer } = fetching()
    assert.equal((await answer).fault, fault)
    assert.deepEqual(
      got,
      Array.from({ length: 40 }, (_, i) => i),
    )
  })
}
