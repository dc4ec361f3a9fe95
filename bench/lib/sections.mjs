// The tables of a run. A section returns its header and rows as strings, and the notes that follow the table.
import { geography } from './geography.mjs'
import { governed } from './governed.mjs'
import { governor } from './governor.mjs'
import { hops } from './hops.mjs'
import { peers, work } from './peers.mjs'
import { startup } from './startup.mjs'
import { memory, steps } from './steps.mjs'
import { streams } from './stream.mjs'
import { ms } from './table.mjs'
import { throughput } from './throughput.mjs'

const compared = ['what', 'Postern', 'baseline', 'ratio', 'target', '']

/** A section of rows created by table.mjs. */
const comparison = (title, ...measurements) => ({
  title,
  run: async (...run) => {
    const rows = []
    for (const measure of measurements) rows.push(...(await measure(...run)))
    return { head: compared, rows, notes: [] }
  },
})

export const sections = {
  throughput: comparison('Requests in plain workerd', throughput),
  streams: comparison('Streams in plain workerd', streams, governed),
  core: comparison(
    'The core',
    governor,
    (_parts, _url, seed) => steps(seed.bench.keys[0]),
    (_parts, _url, seed) => [memory(seed.bench.keys[0])],
    startup,
  ),
  hops: { title: 'Platform operations per request, and dollars per million at list prices', run: counted },
  geography: { title: 'Time to first token added, with objects and KV far away (medians)', run: far },
  peers: { title: 'Other gateways', run: others, optional: true },
}

/** The targets of one case as text, and the ones that were missed. */
function judged({ targets, calls, rows, kv, dollars }) {
  if (targets === undefined) return ['', '']
  const limits = [
    ['object calls', calls, targets.calls],
    ['rows written', rows, targets.rows],
    ['KV', kv, targets.kv],
    ['$', dollars, targets.dollars],
  ]
  // Compare the figures as they are printed.
  const short = limits.filter(([, value, most]) => Number(value.toFixed(3)) > most).map(([name]) => name)
  return [
    limits.map(([name, , most]) => `${name} ≤ ${most}`).join(', '),
    short.length > 0 ? `short: ${short.join(', ')}` : '',
  ]
}

async function counted(parts, url, seed) {
  const cases = (await hops(parts, url, seed)).map((one) => ({
    ...one,
    calls: one.objectCalls + one.alarmsRung,
    rows: one.rowsWritten + one.alarmsSet,
    kv: one.kvReads + one.kvWrites,
  }))
  const number = (n) => `${+n.toFixed(3)}`
  const row = (one) => {
    if (one.requests === 0) return [one.title, '', '', '', '', '', '', '', 'not seen']
    const figures = [one.calls, one.rows, one.rowsRead, one.kvReads, one.kvWrites].map(number)
    return [one.title, ...figures, one.dollars.toFixed(2), ...judged(one)]
  }
  const head = ['request', 'object calls', 'rows written', 'rows read', 'KV reads', 'KV writes', '$', 'target', '']
  const failures = cases.filter(({ failure }) => failure).map(({ title, failure }) => `${title}: ${failure}`)
  const kinds = ({ title, written }) => `${title}: ${written.map(([kind, n]) => `${kind} ${number(n)}`).join(', ')}`
  const notes = [
    'Object calls include alarms that ring, and rows written include alarms that are set.',
    'Rows written per request by class and kind of row:',
    ...cases.filter(({ targets, requests }) => targets !== undefined && requests > 0).map(kinds),
  ]
  return { head, rows: cases.map(row), notes, failures }
}

const MOST_MS = 3

async function far(parts, url, seed) {
  const short = (added) => (added > MOST_MS ? 'short' : '')
  const rows = (await geography(parts, url, seed)).flatMap(({ objectMs, kvMs, lending, exact }) => {
    const delays = [ms(objectMs), ms(kvMs)]
    const [most, calls] = [`≤ ${MOST_MS} ms`, `≤ ${MOST_MS} ms beyond the call`]
    return [
      [...delays, 'with leases', ms(lending.p50), ms(lending.p95), '–', most, short(lending.p50)],
      [...delays, 'default', ms(exact.p50), ms(exact.p95), ms(exact.beyond), calls, short(exact.beyond)],
    ]
  })
  return {
    head: ['object call', 'KV read', 'plan', 'p50', 'p95', 'beyond one call', 'target (p50)', ''],
    rows,
    notes: [],
  }
}

async function others(...run) {
  const head = ['gateway', 'runtime', ...work, 'requests', 'CPU per request']
  return {
    head,
    rows: await peers(...run),
    notes: ["Portkey's gateway runs on Node, and Postern on workerd."],
  }
}
