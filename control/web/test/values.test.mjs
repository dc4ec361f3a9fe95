import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberOf, numberOrNull, same } from '../src/values.js'

test('typed numbers are parsed; other text is left for the server to reject', () => {
  assert.equal(numberOf(' $1,000.50 '), 1000.5)
  assert.equal(numberOf('1,234,567'), 1234567)
  assert.equal(numberOf('0'), 0)
  for (const text of ['2,50', '0,500', '1,0000', '1234,567', '1.234,50', ',500', '1,,000', '0.1,000']) {
    assert.equal(numberOf(text), text)
  }
  assert.equal(numberOf('ten'), 'ten')
  assert.equal(numberOf(''), '')
  assert.equal(numberOrNull(' '), null)
  assert.equal(numberOrNull('5'), 5)
})

test('JSON values are compared by content', () => {
  assert.equal(same({ a: [1, null] }, { a: [1, null] }), true)
  assert.equal(same(['a'], []), false)
})
