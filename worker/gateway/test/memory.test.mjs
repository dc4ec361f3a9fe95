import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { clock } from '../src/clock.ts'
import { MemoryCache } from '../src/memory.ts'

const KEEP_MS = 1000
const BOUNDS = { memoryBytes: 3000, memoryEntryBytes: 1000, memoryOverheadBytes: 100 }
const bytes = (length) => new Uint8Array(length)
const bounded = (bounds) => {
  const memory = new MemoryCache()
  memory.bound({ ...BOUNDS, ...bounds })
  return memory
}
let nowMs

beforeEach(() => {
  nowMs = 1_000_000
  clock.now = () => nowMs
})

test('returns a written value', () => {
  const memory = bounded()
  const value = bytes(3)
  memory.write('a', value, KEEP_MS)
  assert.equal(memory.read('a'), value)
  assert.equal(memory.read('b'), undefined)
})

test('an entry expires', () => {
  const memory = bounded()
  memory.write('a', bytes(3), KEEP_MS)
  nowMs += KEEP_MS - 1
  assert.ok(memory.read('a'))
  nowMs++
  assert.equal(memory.read('a'), undefined)
  assert.equal(memory.bytes, 0)
})

test('a clock that jumps back removes entries instead of extending their life', () => {
  const memory = bounded()
  memory.write('a', bytes(3), KEEP_MS)
  nowMs -= 1
  assert.equal(memory.read('a'), undefined)
})

test('a keep time of 0 removes the entry', () => {
  const memory = bounded()
  memory.write('a', bytes(3), KEEP_MS)
  memory.write('a', bytes(3), 0)
  assert.equal(memory.read('a'), undefined)
  assert.equal(memory.bytes, 0)
})

test('the least recently used entry is evicted', () => {
  const memory = bounded()
  for (const key of ['a', 'b', 'c']) memory.write(key, bytes(800), KEEP_MS)
  memory.read('a')
  memory.write('d', bytes(800), KEEP_MS)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].filter((key) => memory.read(key)),
    ['a', 'c', 'd'],
  )
})

test("an entry's size is its key, its value and the overhead", () => {
  const memory = bounded()
  memory.write('a', bytes(900), KEEP_MS)
  assert.equal(memory.read('a'), undefined)
  memory.write('b', bytes(899), KEEP_MS)
  assert.ok(memory.read('b'))
  assert.equal(memory.bytes, 1000)
})

test('an empty value removes the entry', () => {
  const memory = bounded()
  memory.write('a', bytes(3), KEEP_MS)
  memory.write('a', bytes(0), KEEP_MS)
  assert.equal(memory.read('a'), undefined)
  assert.equal(memory.bytes, 0)
})

test('without bounds no entry is stored', () => {
  const memory = new MemoryCache()
  memory.write('a', bytes(3), KEEP_MS)
  assert.equal(memory.read('a'), undefined)
})

test('an entry over the limit is not stored and removes only the entry of its key', () => {
  const memory = bounded()
  memory.write('a', bytes(10), KEEP_MS)
  memory.write('b', bytes(10), KEEP_MS)
  memory.write('a', bytes(1001), KEEP_MS)
  assert.equal(memory.read('a'), undefined)
  assert.ok(memory.read('b'))
})

test('evicts as a list in the order of use would', () => {
  const memory = bounded({ memoryBytes: 5000 })
  let model = [] // [key, size], least recently used first
  const without = (key) => model.filter(([other]) => other !== key)
  let evicted = 0
  for (let i = 0; i < 20_000; i++) {
    const key = `k${(i * i * 31) % 97}`
    const used = model.find(([other]) => other === key)
    if (i % 5 === 0) {
      const length = 1 + ((i * 7919) % 500)
      memory.write(key, bytes(length), KEEP_MS)
      model = [...without(key), [key, key.length + length + BOUNDS.memoryOverheadBytes]]
      for (; model.reduce((sum, [, size]) => sum + size, 0) > 5000; evicted++) model.shift()
    } else if (i % 101 === 0) {
      memory.remove(key)
      model = without(key)
    } else {
      assert.equal(memory.read(key) !== undefined, used !== undefined, `${key} at ${i}`)
      if (used !== undefined) model = [...without(key), used]
    }
  }
  assert.ok(evicted > 1000, `${evicted} evicted`)
  assert.equal(
    memory.bytes,
    model.reduce((sum, [, size]) => sum + size, 0),
  )
})

test('never exceeds its capacity', () => {
  const memory = bounded({ memoryBytes: 10_000 })
  for (let i = 0; i < 5000; i++) {
    memory.write(`key ${i % 700}`, bytes((i * 7919) % 990), KEEP_MS)
    memory.write(`short ${i}`, bytes(1), KEEP_MS)
    if (i % 3 === 0) memory.remove(`key ${i % 500}`)
    assert.ok(memory.bytes <= 10_000)
  }
  memory.clear()
  assert.equal(memory.bytes, 0)
})
