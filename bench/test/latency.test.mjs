// Latencies of several rounds are those of one histogram.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { head, LOADS, latencyRow, merge, openLoads, percentile } from '../lib/latency.mjs'

const first = [
  [1, 90],
  [2, 9],
]
const second = [
  [2, 900],
  [50, 1],
]

test('the counts of equal buckets are added, in the order of the buckets', () => {
  assert.deepEqual(merge([second, first]), [
    [1, 90],
    [2, 909],
    [50, 1],
  ])
})

test('a percentile is that of all requests, not a median of rounds', () => {
  const all = merge([first, second])
  assert.equal(percentile(all, 9), 1)
  assert.equal(percentile(all, 10), 2)
  assert.equal(percentile(all, 99.9), 2)
  assert.equal(percentile(all, 100), 50)
  assert.ok(Number.isNaN(percentile([], 50)))
})

test('a row has a cell for each column', () => {
  const row = latencyRow('Postern', 0.25, 1200, [{ buckets: first }, { buckets: second }])
  assert.deepEqual(row, ['Postern', '25 %', '1,200/s', '2.00 ms', '2.00 ms', '2.00 ms', '2.00 ms', '50.0 ms'])
  assert.equal(row.length, head.length)
})

test('all servers get the same rates, in turn', async () => {
  const seen = []
  const server = (name) => ({
    name,
    open: (rate) => {
      seen.push(`${name} ${rate}`)
      return { buckets: first, p50ms: 1 }
    },
  })
  const { rows, results } = await openLoads([server('a'), server('b')], 100, 2)
  assert.deepEqual(
    seen,
    LOADS.flatMap((load) => [`a ${load * 100}`, `b ${load * 100}`, `a ${load * 100}`, `b ${load * 100}`]),
  )
  assert.equal(rows.length, LOADS.length * 2)
  assert.equal(results[0][1].length, 2)
})
