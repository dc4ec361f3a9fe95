// The tables of a run. A section returns its header and rows as strings, and the notes that follow the table.
import { geography } from './geography.mjs'
import { governed } from './governed.mjs'
import { governor } from './governor.mjs'
import { hops } from './hops.mjs'
import { KEYS, levels } from './levels.mjs'
import { latency } from './openloop.mjs'
import { peers, work } from './peers.mjs'
import { startup } from './startup.mjs'
import { stepCount } from './stepcount.mjs'
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
  latency: { title: 'Latency in plain workerd at fixed rates', run: latency },
  streams: comparison('Streams in plain workerd', streams, governed),
  core: comparison(
    'The core',
    governor,
    (_parts, _url, seed) => steps(seed.bench.keys[0]),
    stepCount,
    (_parts, _url, seed) => [memory(seed.bench.keys[0])],
    startup,
  ),
  hops: { title: 'Platform operations per request, and dollars per million at list prices', run: counted },
  levels: { title: 'Budgets of groups: platform operations per request, by the number of Ledgers', run: byLevel },
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
  ].filter(([, , most]) => most !== undefined)
  // Compare the figures as they are printed.
  const short = limits.filter(([, value, most]) => Number(value.toFixed(3)) > most).map(([name]) => name)
  return [
    limits.map(([name, , most]) => `${name} ≤ ${most}`).join(', '),
    short.length > 0 ? `short: ${short.join(', ')}` : '',
  ]
}

const number = (n) => `${+n.toFixed(3)}`
const KINDS = 'Rows written per request by class and kind of row:'
const writtenKinds = ({ title, written }) =>
  `${title}: ${written.map(([kind, n]) => `${kind} ${number(n)}`).join(', ')}`

async function counted(parts, url, seed) {
  const cases = (await hops(parts, url, seed)).map((one) => ({
    ...one,
    calls: one.objectCalls + one.alarmsRung,
    rows: one.rowsWritten + one.alarmsSet,
    kv: one.kvReads + one.kvWrites,
  }))
  const row = (one) => {
    if (one.requests === 0) return [one.title, '', '', '', '', '', '', '', 'not seen']
    const figures = [one.calls, one.rows, one.rowsRead, one.kvReads, one.kvWrites].map(number)
    return [one.title, ...figures, one.dollars.toFixed(2), ...judged(one)]
  }
  const head = ['request', 'object calls', 'rows written', 'rows read', 'KV reads', 'KV writes', '$', 'target', '']
  const failures = cases.filter(({ failure }) => failure).map(({ title, failure }) => `${title}: ${failure}`)
  const notes = [
    'Object calls include alarms that ring, and rows written include alarms that are set.',
    KINDS,
    ...cases.filter(({ targets, requests }) => targets !== undefined && requests > 0).map(writtenKinds),
  ]
  return { head, rows: cases.map(row), notes, failures }
}

const FURTHER_CALLS = 0.1 // of a lending plan or a warm key with four Ledgers, more than with one
const END_CALLS = 0.05
const ROOT_MS = 50 // or twice the time of other objects, because a busy machine delays all of them

/** The rows of one kind of request: its cost, and what each further Ledger adds. */
function levelRows(cases) {
  return cases.map((one, i) => {
    const before = cases[i - 1] ?? one
    const more = { targets: i > 0 ? one.targets : undefined }
    for (const what of ['calls', 'rows', 'dollars']) more[what] = one[what] - before[what]
    const figures = [one.calls, one.rows].map(number)
    const added = i > 0 ? [more.calls, more.rows, more.dollars].map((n) => n.toFixed(3)) : ['', '', '']
    return [one.title, `${one.n}`, ...figures, one.dollars.toFixed(2), ...added, ...judged(more)]
  })
}

async function byLevel(...run) {
  const { kinds, end, root, failure } = await levels(...run)
  const cases = [...kinds.flat(), end]
  const failures = cases.filter((one) => one.failure).map(({ name, failure }) => `${name}: ${failure}`)
  if (failure) failures.push(failure)
  const [, warm, lent] = kinds
  const single = (title, value, most, unit = '') => {
    const short = value <= most ? '' : 'short'
    return [title, '', `${value.toFixed(3)}${unit}`, '', '', '', '', '', `≤ ${most}${unit}`, short]
  }
  const further = (of) => of.at(-1).calls - of[0].calls
  return {
    head: [
      'request',
      'Ledgers',
      'object calls',
      'rows written',
      '$',
      'added calls',
      'added rows',
      'added $',
      'target (added)',
      '',
    ],
    rows: [
      ...kinds.flatMap(levelRows),
      single('four Ledgers instead of one, default plan: added calls', further(warm), FURTHER_CALLS),
      single('four Ledgers instead of one, plan with leases: added calls', further(lent), FURTHER_CALLS),
      single('calls of the Ledger whose budget is nearly spent, default plan', end.topCalls, END_CALLS),
      single(
        `p99 of ${root.calls} calls of the root's Ledger, ${KEYS} keys`,
        root.p99,
        Math.max(ROOT_MS, 2 * root.othersP99),
        ' ms',
      ),
      ['p99 of the other object calls meanwhile', '', `${root.othersP99.toFixed(3)} ms`, '', '', '', '', '', '', ''],
    ],
    notes: [KINDS, ...kinds.flat().map((one) => writtenKinds({ ...one, title: `${one.title}, ${one.n} Ledgers` }))],
    failures,
  }
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
  const { rows, notes } = await peers(...run)
  const figures = [
    'requests',
    'CPU per request',
    'CPU against the proxy',
    'requests against Portkey on workerd',
    'target',
    '',
  ]
  const how = "Portkey's npm package runs on Node. Its Worker is measured if `PORTKEY_SRC` names its source."
  return { head: ['gateway', 'runtime', ...work, ...figures], rows, notes: [how, ...notes] }
}
