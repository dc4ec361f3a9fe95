// Platform operations per request (object calls, rows, alarms, KV), counted in the Go host, and their cost at
// Cloudflare's list prices (bench/prices.json).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH, output } from './process.mjs'
import { table } from './table.mjs'

/** Dollars per million requests, excluding CPU time, duration and the amounts a plan includes. */
function dollars(prices, { objectCalls, kvReads, kvWrites, rowsRead, rowsWritten, alarmsSet }) {
  return (
    prices.workerRequests +
    objectCalls * prices.objectRequests +
    kvReads * prices.kvReads +
    kvWrites * prices.kvWrites +
    rowsRead * prices.rowsRead +
    (rowsWritten + alarmsSet) * prices.rowsWritten
  )
}

export async function hops() {
  const { prices } = JSON.parse(readFileSync(join(BENCH, 'prices.json'), 'utf8'))
  const counts = JSON.parse(await output('go', ['run', './bench/hops']))
  const names = ['objectCalls', 'kvReads', 'kvWrites', 'rowsRead', 'rowsWritten', 'alarmsSet', 'steps']
  const head = [
    'request',
    'object calls',
    'KV reads',
    'KV writes',
    'rows read',
    'rows written',
    'alarms set',
    'steps',
    '$ per million',
  ]
  const rows = counts.map((count) => {
    return [count.name, ...names.map((name) => `${+count[name].toFixed(2)}`), dollars(prices, count).toFixed(2)]
  })
  return table(head, rows, false)
}
