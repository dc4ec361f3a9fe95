import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Randomness } from '../src/randomness.ts'

test('no bytes are given out twice', () => {
  const randomness = new Randomness()
  const taken = new Set()
  for (let i = 0; i < 5000; i++) {
    const bytes = randomness.take(i % 2 === 0 ? 16 : 24)
    assert.equal(bytes.length, i % 2 === 0 ? 16 : 24)
    for (let at = 0; at + 8 <= bytes.length; at += 8) taken.add(bytes.subarray(at, at + 8).toString())
  }
  assert.equal(taken.size, 2500 * 2 + 2500 * 3)
})

test('bytes that were given out do not change', () => {
  const randomness = new Randomness()
  const first = randomness.take(16)
  const copy = first.slice()
  for (let i = 0; i < 1000; i++) randomness.take(16)
  assert.deepEqual(first, copy)
})
