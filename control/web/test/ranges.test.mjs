import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import {
  boundsOf,
  customOf,
  DAY_RANGES,
  dayQuery,
  OVERVIEW_RANGES,
  rangeWords,
  readRange,
  shownRange,
  sinceOf,
  slotsOf,
  slotWords,
  USAGE_RANGES,
  usageQuery,
} from '../src/ranges.js'
import { setZone } from '../src/zone.js'

process.env.TZ = 'Asia/Kolkata' // UTC+05:30
const NOW = Date.parse('2026-11-21T07:31:04.000Z')
afterEach(() => setZone('UTC'))

const read = (query, names = USAGE_RANGES) => readRange({ range: '', from: '', to: '', ...query }, names, 'month')

test('a URL has one of the page’s ranges, or the page’s own', () => {
  assert.deepEqual(read({}), { name: 'month' })
  assert.deepEqual(read({ range: '24h' }), { name: '24h' })
  assert.deepEqual(read({ range: '1h' }, OVERVIEW_RANGES), { name: 'month' })
  for (const range of ['week', '__proto__', '24H']) assert.deepEqual(read({ range }), { name: 'month' }, range)
})

test('a custom range has two dates or two times', () => {
  const days = { range: 'custom', from: '2026-11-01', to: '2026-11-03' }
  const times = { range: 'custom', from: '2026-11-20T10:00:00Z', to: '2026-11-20T12:00:00Z' }
  assert.deepEqual(read(days), { name: 'custom', from: days.from, to: days.to })
  assert.deepEqual(read(times), { name: 'custom', from: times.from, to: times.to })
  assert.equal(read(times, DAY_RANGES).name, 'month', 'costs are kept by the day')
  for (const wrong of [
    { to: '' },
    { from: '2026-13-01' },
    { from: times.from },
    { from: 'now' },
    { from: '2026-11-20T10:00' },
  ]) {
    assert.equal(read({ ...days, ...wrong }).name, 'month', JSON.stringify(wrong))
  }
})

test('the query of a range', () => {
  const query = (name) => usageQuery({ name }, NOW)
  assert.deepEqual(query('1h'), { range: '1h', by: 'time' })
  assert.deepEqual(query('7d'), { range: '7d', by: 'time' })
  assert.deepEqual(query('30d'), { from: '2026-10-23', to: '2026-11-21', by: 'day' })
  assert.deepEqual(query('month'), { from: '2026-11-01', to: '2026-11-21', by: 'day' })
  assert.deepEqual(dayQuery({ name: '7d' }, NOW), { from: '2026-11-15', to: '2026-11-21' })
  const custom = (from, to) => usageQuery({ name: 'custom', from, to }, NOW).by
  assert.equal(custom('2026-11-20', '2026-11-21'), 'hour')
  assert.equal(custom('2026-11-19', '2026-11-21'), 'day')
  assert.equal(custom('2026-10-01', '2026-10-01'), 'day', 'hours are no longer kept')
  assert.equal(custom('2026-11-20T10:00:00Z', '2026-11-20T12:00:00Z'), 'time')
})

test('a custom range begins with the days of the range before', () => {
  assert.deepEqual(customOf('month', NOW), { range: 'custom', from: '2026-11-01', to: '2026-11-21' })
  assert.deepEqual(customOf('24h', NOW), { range: 'custom', from: '2026-11-20', to: '2026-11-21' })
  assert.deepEqual(customOf('1h', NOW), { range: 'custom', from: '2026-11-21', to: '2026-11-21' })
  assert.deepEqual(boundsOf(false, NOW), { min: '2025-10-17', max: '2026-11-21' })
  assert.deepEqual(boundsOf(true, NOW), { min: '2026-11-13T07:40', max: '2026-11-22T07:31' })
})

test('the steps of a report: the last day is included, the last time is not', () => {
  const slots = (from, to, step) => slotsOf({ from, to, step }).map((ms) => new Date(ms).toISOString().slice(5, 16))
  assert.deepEqual(slots('2026-11-30', '2026-12-01', 'day'), ['11-30T00:00', '12-01T00:00'])
  assert.equal(slots('2026-11-30', '2026-12-01', 'hour').length, 48)
  assert.deepEqual(slots('2026-11-20T10:20:00Z', '2026-11-20T12:00:00Z', 'hour'), ['11-20T10:00', '11-20T11:00'])
  const minutes = slots('2026-11-20T10:20:00Z', '2026-11-20T11:30:00Z', 'minute')
  assert.deepEqual([minutes.length, minutes[0], minutes.at(-1)], [70, '11-20T10:20', '11-20T11:29'])
})

test('an overview of days names its first and its last day', () => {
  const report = { from: '2026-11-15T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z' }
  assert.deepEqual(shownRange({ ...report, step: 'day' }), { from: '2026-11-15', to: '2026-11-21' })
  assert.deepEqual(shownRange({ ...report, step: 'hour' }), report)
})

test('words follow the zone, except for days', () => {
  const times = { from: '2026-11-20T10:20:00Z', to: '2026-11-20T20:00:00Z' }
  const days = { from: '2026-11-01', to: '2026-11-21' }
  assert.equal(rangeWords(times), '2026-11-20 10:20 to 20:00 (UTC)')
  assert.equal(slotWords(Date.parse(times.from), 'minute'), '2026-11-20 10:20')
  setZone('local')
  assert.equal(rangeWords(times), '2026-11-20 15:50 to 2026-11-21 01:30 (local time)')
  assert.equal(slotWords(Date.parse(times.from), 'minute'), '2026-11-20 15:50')
  assert.equal(slotWords(Date.parse('2026-11-20T00:00:00Z'), 'day'), '2026-11-20')
  assert.equal(rangeWords(days), '2026-11-01 to 2026-11-21 (UTC)')
  assert.equal(rangeWords({ from: '2026-11-01', to: '2026-11-01' }), '2026-11-01 (UTC)')
})

test('violations are shown since a midnight of the zone, or for 24 hours', () => {
  const since = (name, now = NOW) => sinceOf(name, now)
  assert.equal(since('today'), '2026-11-21T00:00:00.000Z')
  assert.equal(since('24h'), '2026-11-20T07:30:00.000Z')
  assert.equal(since('7d'), '2026-11-15T00:00:00.000Z')
  assert.equal(since('30d'), '2026-10-23T00:00:00.000Z')
  assert.equal(since('all'), '2025-10-17T00:00:00.000Z')
  setZone('local')
  assert.equal(since('today'), '2026-11-20T18:30:00.000Z')
  assert.equal(since('today', Date.parse('2026-11-20T18:29:59.000Z')), '2026-11-19T18:30:00.000Z')
  assert.equal(since('7d'), '2026-11-14T18:30:00.000Z')
  process.env.TZ = 'Europe/Berlin' // the zone's clocks went back on October 25
  assert.equal(since('today'), '2026-11-20T23:00:00.000Z')
  assert.equal(since('30d'), '2026-10-22T22:00:00.000Z')
  process.env.TZ = 'Asia/Kolkata'
})
