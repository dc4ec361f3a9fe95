import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as format from '../src/format.js'
import { setZone } from '../src/zone.js'

const table = (name, act, cases) =>
  test(name, () => {
    for (const [input, want] of cases) assert.equal(act(...[input].flat()), want, JSON.stringify(input))
  })

table('money has two decimal places, or three significant digits below ten cents', format.money, [
  [0, '$0.00'],
  [1234.567, '$1,234.57'],
  [0.1, '$0.10'],
  [0.125, '$0.13'],
  [1.005, '$1.01'], // the decimal digits are rounded, although the binary approximation is below 1.005
  [0.05, '$0.05'],
  [0.0012, '$0.0012'],
  [0.00034567, '$0.000346'],
  [0.000000000001, '$0.000000000001'],
  [1e-7, '$0.0000001'],
  [0.09994, '$0.0999'],
  [0.09996, '$0.10'],
  [-0.5, '−$0.50'],
  [1e9, '$1,000,000,000.00'],
])

table('exact money has all digits, at least two decimal places', format.moneyExact, [
  [0, '$0.00'],
  [12.3, '$12.30'],
  [67.8934211, '$67.8934211'],
  [0.123456789012, '$0.123456789012'],
  [1e-12, '$0.000000000001'],
])

table('cents are shown as dollars', (cents) => format.money(format.dollarsOf(cents)), [
  [0, '$0.00'],
  [0.00034, '$0.0000034'],
  [0.1 + 0.2, '$0.003'],
  [1250.5, '$12.51'],
])

table('cents keep their digits as dollars', format.dollarsOf, [
  [1.1, 0.011],
  [0.000000000123, 0.000000000001],
  [0.1 + 0.2, 0.003],
])

table('a number in a text field has no separators and no exponent', format.typed, [
  [null, ''],
  [undefined, ''],
  [0, '0'],
  [250.5, '250.5'],
  [1234567.25, '1234567.25'],
  [1e-7, '0.0000001'],
])

table('percentages', format.percent, [
  [[0, 0], '–'],
  [[1, 3], '33.3%'],
  [[1, 1], '100%'],
])

test('the cache hit rate counts only cache lookups', () => {
  assert.equal(format.hitRate({ hits: 1, misses: 2, requests: 10 }), '33.3%')
  assert.equal(format.hitRate({ hits: 0, misses: 0, requests: 10 }), '–')
})

table('durations', format.duration, [
  [null, '–'],
  [0, '0 ms'],
  [812.4, '812 ms'],
  [1240, '1.24 s'],
  [125_000, '2 min 5 s'],
  [43_771_000, '12 h 9 min'],
])

table('spans in the largest whole unit', format.span, [
  [0, '0 seconds'],
  [90, '90 seconds'],
  [3600, '1 hour'],
  [86_400, '1 day'],
  [2_592_000, '30 days'],
])

table('changes', format.change, [
  [[5, 4], '+25%'],
  [[3, 4], '−25%'],
  [[4, 4], 'no change'],
  [[1000.1, 1000], 'no change'],
  [[80, 4], '+1,900%'],
  [[0, 4], '−100%'],
  [[4, 0], '–'],
])

test('the age of data is in seconds for a minute', () => {
  const now = Date.parse('2026-11-21T12:00:00.000Z')
  assert.equal(format.age('2026-11-21T11:59:39.500Z', now), '20 s ago')
  assert.equal(format.age('2026-11-21T12:00:09.000Z', now), '0 s ago')
  assert.equal(format.age('2026-11-21T11:57:00.000Z', now), '3 min ago')
})

test('timestamps follow the zone of the dashboard', () => {
  process.env.TZ = 'America/New_York'
  setZone('local')
  try {
    assert.equal(format.timestamp('2026-11-21T07:31:04.987Z'), '2026-11-21 02:31:04')
    assert.equal(format.timestamp('2026-07-21T02:31:04.987Z'), '2026-07-20 22:31:04')
  } finally {
    setZone('UTC')
  }
})

test('timestamps are in UTC, relative times start from now', () => {
  const now = Date.parse('2026-11-21T12:00:00.000Z')
  assert.equal(format.timestamp('2026-11-21T07:31:04.987Z'), '2026-11-21 07:31:04')
  assert.equal(format.timestamp('2026-11-21T09:31:04+02:00'), '2026-11-21 07:31:04')
  assert.equal(format.relative(null, now), 'never')
  assert.equal(format.relative('2026-11-21T11:59:30.000Z', now), 'just now')
  assert.equal(format.relative('2026-11-21T11:55:00.000Z', now), '5 min ago')
  assert.equal(format.relative('2026-11-21T09:00:00.000Z', now), '3 h ago')
  assert.equal(format.relative('2026-11-20T12:00:00.000Z', now), '1 day ago')
  assert.equal(format.relative('2026-11-24T12:00:00.000Z', now), 'in 3 days')
})
