import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slotsOf } from '../src/ranges.js'
import { budgetShare, downloadHref, NO_FIGURES, series, share } from '../src/usage.js'

const NOW = Date.parse('2026-11-18T12:00:00.000Z')

const span = (from, to, step) => ({ step, slots: slotsOf({ from, to, step }) })

test('every slot that has begun has a row, also without usage', () => {
  const rows = series(span('2026-11-16', '2026-11-20', 'day'), [{ day: '2026-11-17', ...NO_FIGURES, requests: 3 }], NOW)
  assert.deepEqual(
    rows.map(({ time, requests }) => [new Date(time).toISOString().slice(0, 10), requests]),
    [
      ['2026-11-16', 0],
      ['2026-11-17', 3],
      ['2026-11-18', 0],
    ],
  )
})

test('hourly rows are matched by time', () => {
  const rows = series(
    span('2026-11-18', '2026-11-18', 'hour'),
    [{ hour: '2026-11-18T05:00:00.000Z', ...NO_FIGURES, cost: 0.25 }],
    NOW,
  )
  assert.equal(rows.length, 13)
  assert.equal(rows[5].cost, 0.25)
  assert.equal(rows[4].cost, 0)
})

test('download links', () => {
  assert.equal(
    downloadHref('proj_1', { from: '2026-11-01', to: '2026-11-30', by: 'all' }, 'csv'),
    '/api/admin/projects/proj_1/usage?from=2026-11-01&to=2026-11-30&by=all&format=csv',
  )
  assert.match(
    downloadHref('../x?', { from: 'a', to: 'b', by: 'day' }, 'ndjson'),
    /^\/api\/admin\/projects\/\.\.%2Fx%3F\/usage\?/,
  )
})

test('shares, also of zero', () => {
  assert.equal(share(1, 4), 25)
  assert.equal(share(0, 0), null)
  assert.equal(budgetShare({ limit: 100, used: 25 }), 25)
  assert.equal(budgetShare({ limit: 100, used: 130 }), 100)
  assert.equal(budgetShare({ limit: 0, used: 0 }), 100)
})
