import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptHeaders } from '../src/headers.ts'

const pairs = (headers) => [...headers].map(([name, value]) => `${name}: ${value}`)
const expected = (fields) => {
  const headers = new Headers()
  for (let i = 0; i < fields.length; i += 2) headers.append(fields[i], fields[i + 1])
  return pairs(headers)
}

test('every list becomes exactly its own fields', () => {
  const kept = new KeptHeaders()
  const names = ['authorization', 'content-type', 'x-a', 'x-b', 'x-c']
  // Each number selects the names and, independently of them, the values. There are more lists than kept ones.
  for (let n = 0; n < 2000; n++) {
    const fields = []
    for (const [i, name] of names.entries()) if ((n * 7) & (1 << i)) fields.push(name, `${(n >> i) % 3}`)
    assert.deepEqual(pairs(kept.of(fields)), expected(fields), `list ${n}`)
  }
})

test('repeated names stay repeated, before and after lists with other values', () => {
  const kept = new KeptHeaders()
  for (const values of [
    ['1', '2'],
    ['3', '4'],
    ['1', '2'],
  ]) {
    const fields = ['set-cookie', values[0], 'set-cookie', values[1]]
    assert.deepEqual(pairs(kept.of(fields)), expected(fields))
  }
})

test('the list of the caller is neither changed nor kept', () => {
  const kept = new KeptHeaders()
  const first = ['x-a', '1']
  kept.of(first)
  kept.of(['x-a', '2'])
  assert.deepEqual(first, ['x-a', '1'])
  first[1] = '3'
  assert.deepEqual(pairs(kept.of(['x-a', '1'])), ['x-a: 1'])
})

test('after a refused value, the next list is complete', () => {
  const kept = new KeptHeaders()
  kept.of(['x-a', '1', 'x-b', '1'])
  assert.throws(() => kept.of(['x-a', '2', 'x-b', 'line\nbreak']))
  assert.deepEqual(pairs(kept.of(['x-a', '1', 'x-b', '1'])), ['x-a: 1', 'x-b: 1'])
  assert.throws(() => kept.of(['x-c', 'line\nbreak']))
  assert.deepEqual(pairs(kept.of(['x-c', '1'])), ['x-c: 1'])
})
