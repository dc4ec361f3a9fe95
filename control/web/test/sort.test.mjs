import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnName, directionOf, nextOrder, sorted } from '../src/sort.js'

const COLUMNS = [
  { label: 'Name', sort: (row) => row.name },
  { label: 'Latency (p95)', num: true, sort: (row) => row.ms },
  { label: 'Actions' },
]
const rows = [
  { name: 'key 10', ms: 5, id: 1 },
  { name: 'Key 9', ms: null, id: 2 },
  { name: '', ms: 5, id: 3 },
  { name: 'key 9', ms: 40, id: 4 },
  { name: 'Äpfel', ms: undefined, id: 5 },
  { name: 'zebra', ms: Number.NaN, id: 6 },
]
const ids = (order) =>
  sorted(rows, COLUMNS, order)
    .map(({ id }) => id)
    .join('')

test('texts are sorted as people do, numbers by size, and empty values are last both ways', () => {
  assert.equal(ids('name'), '524163')
  assert.equal(ids('-name'), '612453')
  assert.equal(ids('latency-p95'), '134256')
  assert.equal(ids('-latency-p95'), '413256')
})

test('rows with the same value keep their order, and the list itself is not changed', () => {
  assert.equal(ids('latency-p95').slice(0, 2), '13')
  assert.equal(ids('-latency-p95').slice(1, 3), '13')
  assert.deepEqual(
    rows.map(({ id }) => id),
    [1, 2, 3, 4, 5, 6],
  )
})

test('an unknown column, and one that cannot be sorted, changes nothing', () => {
  for (const order of ['', '-', 'actions', '-actions', 'id', '__proto__', 'toString', 'Name', '--name']) {
    assert.equal(ids(order), '123456', order)
  }
})

test('a header’s clicks give its first order, the reverse, and the table’s own', () => {
  const [name, latency] = COLUMNS
  assert.deepEqual([columnName(name.label), columnName(latency.label)], ['name', 'latency-p95'])
  assert.deepEqual(
    ['', 'name', '-name', '-latency-p95'].map((order) => nextOrder(name, order)),
    ['name', '-name', '', 'name'],
  )
  assert.equal(nextOrder(latency, ''), '-latency-p95')
  assert.deepEqual(
    ['name', '-name', 'latency-p95'].map((order) => directionOf(name, order)),
    ['ascending', 'descending', undefined],
  )
})
