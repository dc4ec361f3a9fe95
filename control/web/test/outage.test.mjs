import assert from 'node:assert/strict'
import { beforeEach, mock, test } from 'node:test'
import { hold, isOutage, retryNow, settle, subscribe } from '../src/outage.js'

const error = { status: 503 }
let state
subscribe((next) => {
  state = next
})

beforeEach(() => mock.timers.reset())

test('an outage is an unreachable or failing server, and no refusal', () => {
  assert.deepEqual(
    [0, 500, 503, 400, 401, 404, 409, 429].filter((status) => isOutage({ status })),
    [0, 500, 503],
  )
  assert.equal(isOutage(undefined), false)
})

test('the pauses double up to half a minute, and start again after a success', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let tries = 0
  const retry = () => {
    tries++
    hold(retry, error)
  }
  hold(retry, error)
  const pauses = []
  for (let round = 0; round < 7; round++) {
    pauses.push(state.pauseMs)
    mock.timers.tick(state.pauseMs - 1)
    assert.equal(tries, round, 'not before the pause ends')
    mock.timers.tick(1)
    assert.equal(tries, round + 1)
  }
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  settle(retry)
  assert.equal(state.error, undefined)
  mock.timers.tick(60_000)
  assert.equal(tries, 7, 'nothing is repeated after the success')
  hold(retry, error)
  assert.equal(state.pauseMs, 1000)
  settle(retry)
})

test('a load that is still being repeated is not repeated again, and the outage lasts until the last one ends', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const tries = { quick: 0, slow: 0 }
  const quick = () => tries.quick++
  const slow = () => tries.slow++
  hold(quick, error)
  hold(slow, error)
  mock.timers.tick(1000)
  assert.deepEqual([tries, state.trying], [{ quick: 1, slow: 1 }, true])
  hold(quick, error) // this load has failed again while the other one is in flight
  retryNow()
  assert.deepEqual(tries, { quick: 2, slow: 1 })
  settle(quick)
  assert.equal(state.error, error)
  settle(slow)
  assert.equal(state.error, undefined)
  settle(slow) // settling an unknown load must change nothing
  assert.equal(state.error, undefined)
})
