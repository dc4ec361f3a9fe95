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
  const seats = Array.from({ length: followers }, () => new Seat(flights, 'name'))
  const leave = () => {
    for (const seat of seats) seat.leave(LANDED, bytes(''))
  }
  return {
    flights,
    leader,
    seats,
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
  const { flights, leader, leave } = flying(1)
  leader.leave(LANDED, bytes(''))
  assert.equal(flights.followers, 0)
  const next = new Seat(flights, 'name')
  assert.equal(next.leads, true)
  leave()
})

test('a flight with a full buffer accepts nobody, and its followers read on', async () => {
  const { flights, seats, add, leave, publish } = flying(1)
  publish('', 3)
  add('four')
  const other = new Seat(flights, 'name')
  assert.equal(other.leads, true)
  assert.equal(text(await seats[0].next()), `${FLIGHT_MORE} four`)
  leave()
})

test('a follower that leaves is not counted', () => {
  const { leader, leave } = flying(3)
  leave()
  assert.equal(leader.waiting, 0)
})

test('a leader that does not respond ends its flight for the followers', async () => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] })
  try {
    const { flights, leader, seats, leave } = flying(1)
    const piece = seats[0].next()
    // While a leader responds, it keeps its flight, no matter how long it takes.
    for (let i = 0; i < 20; i++) {
      mock.timers.tick(1000)
      await Promise.resolve()
      await Promise.resolve()
    }
    assert.equal(leader.waiting, 1)
    // The leader gets no turn in this event loop. It acts like a leader that the platform has ended.
    for (let i = 0; i < 5; i++) mock.timers.tick(1000)
    assert.equal(text(await piece), `${FLIGHT_FAILED} `)
    assert.equal(new Seat(flights, 'name').leads, true)
    leave()
  } finally {
    mock.timers.reset()
  }
})
