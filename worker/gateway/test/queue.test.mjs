// Tests waits in the queue of a pinned entry.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACTION_WAIT, NO_BYTES, OUTCOME_OK, TIMER_WOKEN, WAIT_FIRST, WAIT_LAST } from '../src/abi.ts'
import { Isolate } from '../src/isolate.ts'
import { Tasks } from '../src/tasks.ts'

/** An isolate whose next step wakes `wake` exchanges, and the events that its exchanges have got. */
function waiting() {
  const out = { sharedChanged: false, pinnedChanged: true, pinned: NO_BYTES, pinnedKeepMs: 0 }
  let wake = 0
  const isolate = new Isolate({ step: () => ({ ...out, wake }) })
  const events = []
  const step = (count) => {
    wake = count
    isolate.step({ state: NO_BYTES, attached: NO_BYTES, pinned: 'key', waiting: 0, event: {} })
  }
  const join = (name, code = WAIT_LAST, keepMs = 60_000) => {
    let push
    const ended = new Promise((resolve) => {
      push = (_kind, id, code) => {
        tasks.remove(id)
        events.push(`${name} ${code}`)
        resolve()
      }
    })
    const tasks = new Tasks((...event) => push(...event), { outlive: () => undefined })
    tasks.queue({ kind: ACTION_WAIT, id: 6, buffer: 0, code, keepMs }, isolate.queues, 'key')
    return { ended, cancel: () => tasks.cancel(6), tasks }
  }
  return { isolate, events, step, join }
}

test('exchanges are woken in the order of the queue', async () => {
  const { events, step, join } = waiting()
  const [a, b, c, first] = [join('a'), join('b'), join('c'), join('first', WAIT_FIRST)]
  step(0)
  step(2)
  await Promise.all([a.ended, first.ended])
  assert.deepEqual(events.sort(), [`a ${TIMER_WOKEN}`, `first ${TIMER_WOKEN}`])
  step(1_000_000)
  await Promise.all([b.ended, c.ended])
  assert.deepEqual(events.slice(2).sort(), [`b ${TIMER_WOKEN}`, `c ${TIMER_WOKEN}`])
  step(1)
})

test('an exchange whose time is over or that has left is not woken', async () => {
  const { events, step, join } = waiting()
  const late = join('late', WAIT_LAST, 1)
  const left = join('left')
  const last = join('last')
  await late.ended
  left.cancel()
  step(1)
  await last.ended
  assert.deepEqual(events, [`late ${OUTCOME_OK}`, `last ${TIMER_WOKEN}`])
})

test('an exchange that ends before it notices that it was woken wakes the next one', async () => {
  const { events, step, join } = waiting()
  const left = join('left')
  const last = join('last')
  step(1)
  left.cancel()
  await last.ended
  assert.deepEqual(events, [`last ${TIMER_WOKEN}`])
})
