import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxBack, period } from '../src/periods.js'

const SATURDAY = Date.parse('2026-11-21T07:31:04.000Z')
const range = ({ from, to, by, slots }) => [from, to, by, slots.length]

test('the current period ends today', () => {
  assert.deepEqual(range(period('day', 0, SATURDAY)), ['2026-11-21', '2026-11-21', 'hour', 24])
  assert.deepEqual(range(period('week', 0, SATURDAY)), ['2026-11-16', '2026-11-21', 'day', 7])
  assert.deepEqual(range(period('month', 0, SATURDAY)), ['2026-11-01', '2026-11-21', 'day', 30])
})

test('past periods are complete', () => {
  assert.deepEqual(range(period('day', -1, SATURDAY)), ['2026-11-20', '2026-11-20', 'hour', 24])
  assert.deepEqual(range(period('week', -1, SATURDAY)), ['2026-11-09', '2026-11-15', 'day', 7])
  assert.deepEqual(range(period('month', -9, SATURDAY)), ['2026-02-01', '2026-02-28', 'day', 28])
  assert.deepEqual(range(period('month', -11, SATURDAY)), ['2025-12-01', '2025-12-31', 'day', 31])
})

test('a week begins on Monday, on a Sunday and across the new year too', () => {
  assert.equal(period('week', 0, Date.parse('2026-11-22T23:59:59.999Z')).from, '2026-11-16')
  assert.equal(period('week', 0, Date.parse('2026-11-23T00:00:00.000Z')).from, '2026-11-23')
  const newYear = period('week', 0, Date.parse('2027-01-01T12:00:00.000Z'))
  assert.equal(newYear.from, '2026-12-28')
  assert.match(newYear.label, /^Week 53: /)
  assert.match(period('week', 0, Date.parse('2027-01-04T12:00:00.000Z')).label, /^Week 1: /)
})

test('labels name the period', () => {
  assert.match(period('day', 0, SATURDAY).label, /^Saturday,? 21 November 2026$/)
  assert.match(period('week', 0, SATURDAY).label, /^Week 47: 16.*22 November 2026$/)
  assert.equal(period('month', 0, SATURDAY).label, 'November 2026')
})

test('the oldest period is the last one within the retention of 400 days', () => {
  assert.deepEqual(
    ['day', 'week', 'month'].map((kind) => maxBack(kind, SATURDAY)),
    [7, 57, 13],
  )
  assert.equal(maxBack('week', Date.parse('2026-11-23T00:00:00Z')), 58) // Monday; Sunday was 400 days after a Sunday
  const oldest = '2025-10-17'
  for (const kind of ['week', 'month']) {
    const { from, to, earlier } = period(kind, -maxBack(kind, SATURDAY), SATURDAY)
    assert.ok(from <= oldest && oldest <= to, `${kind} from ${from} to ${to}`)
    assert.equal(earlier, false)
    assert.equal(period(kind, 1 - maxBack(kind, SATURDAY), SATURDAY).earlier, true)
  }
})

test('days go back to the retention of eight days, and not into the future', () => {
  assert.equal(period('day', -6, SATURDAY).earlier, true)
  assert.equal(period('day', -7, SATURDAY).earlier, false)
  assert.equal(period('month', -7, SATURDAY).earlier, true)
  assert.equal(period('day', 0, SATURDAY).later, false)
  assert.equal(period('day', -1, SATURDAY).later, true)
})
