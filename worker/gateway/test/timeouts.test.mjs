import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { FAULT_FIRST_BYTE, FAULT_HEAD, FAULT_IDLE, FAULT_TOTAL } from '../src/abi.ts'
import { shorter, Timeouts } from '../src/timeouts.ts'

const SHORTEST_MS = 30_000
const TOTAL_MS = 180_000

let faults
let timeouts
beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  faults = []
  timeouts = new Timeouts(TOTAL_MS, SHORTEST_MS, (fault) => faults.push(fault))
})
afterEach(() => mock.timers.reset())

/** Checks that the given fault, and no other, occurs exactly ms from now. */
function expectFault(fault, ms) {
  mock.timers.tick(ms - 1)
  assert.deepEqual(faults, [])
  mock.timers.tick(1)
  assert.deepEqual(faults, [fault])
}

test('a phase with a longer timeout than the shortest ends at its own time', () => {
  timeouts.phase(120_000, FAULT_HEAD)
  expectFault(FAULT_HEAD, 120_000)
})

test('a phase that begins later has its whole time', () => {
  timeouts.phase(120_000, FAULT_HEAD)
  mock.timers.tick(50_000)
  timeouts.phase(SHORTEST_MS, FAULT_FIRST_BYTE)
  expectFault(FAULT_FIRST_BYTE, SHORTEST_MS)
})

test('a phase that is shorter than the announced one ends in time', () => {
  timeouts.phase(120_000, FAULT_HEAD)
  timeouts.phase(10, FAULT_FIRST_BYTE)
  expectFault(FAULT_FIRST_BYTE, 10)
})

test('the total time ends a fetch whose phases begin again and again', () => {
  for (let ms = 0; ms < TOTAL_MS - 20_000; ms += 20_000) {
    timeouts.phase(SHORTEST_MS, FAULT_IDLE)
    mock.timers.tick(20_000)
  }
  timeouts.phase(SHORTEST_MS, FAULT_IDLE)
  expectFault(FAULT_TOTAL, 20_000)
})

test('a phase without a timeout, and a stopped fetch, have no fault', () => {
  const endless = new Timeouts(0, SHORTEST_MS, (fault) => faults.push(fault))
  endless.phase(0, 0)
  timeouts.phase(SHORTEST_MS, FAULT_HEAD)
  timeouts.stop()
  mock.timers.tick(2 * TOTAL_MS)
  assert.deepEqual(faults, [])
})

test('a fetch whose phases each take less than the shortest timeout needs one timer', () => {
  const timers = mock.method(globalThis, 'setTimeout')
  timeouts.phase(120_000, FAULT_HEAD)
  mock.timers.tick(5_000)
  timeouts.phase(SHORTEST_MS, FAULT_FIRST_BYTE)
  mock.timers.tick(5_000)
  timeouts.phase(SHORTEST_MS, FAULT_IDLE)
  timeouts.stop()
  assert.equal(timers.mock.callCount(), 1)
  timers.mock.restore()
})

test('the shorter of two timeouts is never one that does not exist', () => {
  assert.deepEqual([shorter(5, 3), shorter(0, 3), shorter(5, 0)], [3, 3, 5])
  assert.equal(shorter(0, 0), Number.POSITIVE_INFINITY)
})
