// Tests the flights of an isolate: what followers read, and when a flight ends.
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { FLIGHT_FAILED, FLIGHT_MORE } from '../src/abi.ts'
import { Flights, Seat } from '../src/flight.ts'

const LANDED = 1
const bytes = (text) => new TextEncoder().encode(text)
const text = (piece) => `${piece.code} ${new TextDecoder().decode(piece.data)}`

/** A flight with a leader and followers. The leader's buffer grows with add. */
function flying(followers) {
  const flights = new Flights()
  const leader = new Seat(flights, 'name')
  let body = bytes('')
  const add = (more) => {
    body = Buffer.concat([body, bytes(more)])
  }
  const all = [leader]
  const join = () => {
    all.push(new Seat(flights, 'name'))
    return all.at(-1)
  }
  const seats = Array.from({ length: followers }, join)
  // Otherwise their timers would keep the process alive.
  const leave = () => {
    for (const seat of all) seat.leave(LANDED, bytes(''))
  }
  return {
    flights,
    leader,
    seats,
    join,
    add,
    leave,
    publish: (head, limit) => leader.publish(bytes(head), () => body, limit),
  }
}

test('followers read everything once, in order, and then the landing', async () => {
  const { leader, seats, add, leave, publish } = flying(2)
  assert.equal(leader.leads, true)
  assert.equal(leader.waiting, 2)
  const [early, late] = seats
  const first = early.next()
  publish('head ', 100)
  assert.equal(text(await first), `${FLIGHT_MORE} head `)
  add('one ')
  assert.equal(text(await early.next()), `${FLIGHT_MORE} one `)
  add('two ')
  leader.leave(LANDED, bytes('entry'))
  assert.equal(text(await early.next()), `${FLIGHT_MORE} two `)
  assert.equal(text(await late.next()), `${FLIGHT_MORE} head one two `)
  for (const seat of seats) assert.equal(text(await seat.next()), `${LANDED} entry`)
  leave()
})

test('a landing is delivered to a follower that waits already', async () => {
  const { leader, seats, leave } = flying(1)
  const piece = seats[0].next()
  leader.leave(FLIGHT_FAILED, bytes('code'))
  assert.equal(text(await piece), `${FLIGHT_FAILED} code`)
  leave()
})

test('after the landing, the next exchange leads', () => {
  const { flights, leader, join, leave } = flying(1)
  leader.leave(LANDED, bytes(''))
  assert.equal(flights.followers, 0)
  assert.equal(join().leads, true)
  leave()
})

test('a flight with a full buffer accepts nobody, and its followers read on', async () => {
  const { seats, join, add, leave, publish } = flying(1)
  publish('', 3)
  add('four')
  assert.equal(join().leads, true)
  assert.equal(text(await seats[0].next()), `${FLIGHT_MORE} four`)
  leave()
})

test('a follower that leaves is not counted', () => {
  const { leader, leave } = flying(3)
  leave()
  assert.equal(leader.waiting, 0)
})

test('a leader that gives signs of life keeps its flight, no matter how long it takes', () => {
  mock.timers.enable({ apis: ['setInterval'] })
  try {
    const { join, leave } = flying(1)
    for (let i = 0; i < 20; i++) mock.timers.tick(1000)
    assert.equal(join().leads, false)
    leave()
  } finally {
    mock.timers.reset()
  }
})

test('a leader that gives no sign of life ends its flight for the followers', async () => {
  const { leader, join } = flying(0) // the leader's timer does not ring: the others are mocked
  mock.timers.enable({ apis: ['setInterval'] })
  try {
    const piece = join().next()
    mock.timers.tick(3000)
    assert.equal(join().leads, false)
    mock.timers.tick(1000)
    assert.equal(text(await piece), `${FLIGHT_FAILED} `)
    assert.equal(join().leads, true)
  } finally {
    mock.timers.reset()
    leader.leave(LANDED, bytes(''))
  }
})
