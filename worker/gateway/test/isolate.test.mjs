// Tests what an isolate keeps from one step to the next.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../src/abi.ts'
import { Isolate } from '../src/isolate.ts'

const bytes = (value) => new TextEncoder().encode(value)
const text = (value) => new TextDecoder().decode(value)

const UNCHANGED = {
  sharedChanged: false,
  shared: NO_BYTES,
  pinnedChanged: false,
  pinned: NO_BYTES,
  pinnedKeepMs: 0,
  wake: 0,
}

/**
 * Creates an isolate whose steps have the given outputs. Its function step returns the isolate's data that a step
 * gets.
 */
function stepping(...outputs) {
  let seen
  const isolate = new Isolate({
    step: (_nowMs, shared, _state, _attached, pinned) => {
      seen = `shared ${text(shared)}, pinned ${text(pinned)}`
      return { ...UNCHANGED, ...outputs.shift() }
    },
  })
  isolate.bound({ memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0, pinnedEntries: 1 })
  const step = (pinned = 'key') => {
    isolate.step({ state: NO_BYTES, attached: NO_BYTES, pinned, waiting: 0, event: {} })
    return seen
  }
  return { isolate, step }
}

test('the next step reads what a step changed, and only that', () => {
  const shared = bytes('one')
  const { isolate, step } = stepping(
    { sharedChanged: true, shared, pinnedChanged: true, pinned: bytes('entry'), pinnedKeepMs: 1000 },
    {},
    { sharedChanged: true, shared: bytes('two') },
    { pinnedChanged: true },
    {},
  )
  assert.equal(step(), 'shared , pinned ')
  shared.fill(0) // the core's memory, which is reused
  assert.equal(step(), 'shared one, pinned entry')
  assert.equal(step('other'), 'shared one, pinned ')
  assert.equal(step(), 'shared two, pinned entry')
  assert.equal(step(), 'shared two, pinned ')
  isolate.clear()
  assert.equal(step(), 'shared , pinned ')
})

test('an exchange without a pinned entry reads none', () => {
  const { step } = stepping({ pinnedChanged: true, pinned: bytes('entry'), pinnedKeepMs: 1000 })
  step()
  assert.equal(step(''), 'shared , pinned ')
})
