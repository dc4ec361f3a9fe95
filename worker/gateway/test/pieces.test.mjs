import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { clock } from '../src/clock.ts'
import { Pieces } from '../src/pieces.ts'

const LIMIT = 1000
const piece = (...bytes) => new Uint8Array(bytes)
let nowMs
let waits // [ms, resolve] of each pending wait
let taken // what each call of the sink got

beforeEach(() => {
  nowMs = 1_000_000
  clock.now = () => nowMs
  waits = []
  taken = []
  globalThis.scheduler = { wait: (ms) => new Promise((resolve) => waits.push([ms, resolve])) }
})

/** A sink that takes each chunk immediately. */
const quick = () => new Pieces((data) => void taken.push([...data]), LIMIT)

async function endWait() {
  const [ms, resolve] = waits.shift()
  resolve()
  await new Promise(setImmediate)
  return ms
}

test('chunks with pauses between them are delivered one by one, at once', () => {
  const pieces = quick()
  for (let i = 0; i < 20; i++) {
    pieces.add(piece(i))
    assert.deepEqual(taken.at(-1), [i])
    nowMs += 2
  }
  assert.equal(waits.length, 0)
})

test('the second chunk of a burst waits only for what has arrived too', async () => {
  const pieces = quick()
  pieces.add(piece(1))
  pieces.add(piece(2))
  pieces.add(piece(3))
  assert.equal(await endWait(), 0)
  assert.deepEqual(taken, [[1], [2, 3]])
  assert.equal(waits.length, 0)
})

test('a long burst is delivered every 2 ms', async () => {
  const pieces = quick()
  for (let i = 0; i < 5; i++) pieces.add(piece(i))
  assert.equal(await endWait(), 0)
  nowMs++
  for (let i = 5; i < 9; i++) pieces.add(piece(i))
  assert.equal(await endWait(), 2)
  nowMs++
  pieces.add(piece(9))
  assert.equal(await endWait(), 2)
  nowMs += 2
  pieces.add(piece(10)) // after a pause
  assert.deepEqual(taken, [[0], [1, 2, 3, 4], [5, 6, 7, 8], [9], [10]])
  assert.equal(waits.length, 0)
})

test('the end delivers the held bytes at once, and only once', async () => {
  const pieces = quick()
  for (let i = 0; i < 3; i++) pieces.add(piece(i))
  pieces.end()
  assert.deepEqual(taken, [[0], [1, 2]])
  await endWait()
  pieces.end()
  assert.deepEqual(taken, [[0], [1, 2]])
})

test('the end does not wait for a sink that takes nothing more', () => {
  const pieces = new Pieces((data) => {
    taken.push([...data])
    return new Promise(() => {})
  }, LIMIT)
  for (let i = 0; i < 3; i++) pieces.add(piece(i))
  pieces.end()
  assert.deepEqual(taken, [[0], [1, 2]])
})

test('nothing more is gathered than there is room for', async () => {
  const pieces = new Pieces((data) => void taken.push(data.length), LIMIT)
  pieces.add(new Uint8Array(1))
  pieces.add(new Uint8Array(LIMIT - 1))
  assert.deepEqual(taken, [1])
  pieces.add(new Uint8Array(1))
  assert.deepEqual(taken, [1, LIMIT])
  assert.equal(pieces.room, undefined)
  pieces.add(new Uint8Array(5))
  await endWait() // still counts for the first gathering, which is over
  assert.deepEqual(taken, [1, LIMIT])
  await endWait()
  assert.deepEqual(taken, [1, LIMIT, 5])
})

test('there is no room while a slow sink has not taken as much as the limit', async () => {
  let take
  const pieces = new Pieces((data) => {
    taken.push(data.length)
    return new Promise((resolve) => {
      take = resolve
    })
  }, LIMIT)
  pieces.add(new Uint8Array(10))
  nowMs += 10
  pieces.add(new Uint8Array(LIMIT - 1))
  assert.equal(pieces.room, undefined)
  pieces.add(new Uint8Array(1))
  assert.ok(pieces.room)
  let room = false
  void pieces.room.then(() => {
    room = true
  })
  take()
  await new Promise(setImmediate)
  assert.equal(room, true)
  assert.equal(pieces.room, undefined)
  assert.deepEqual(taken, [10, LIMIT])
})
