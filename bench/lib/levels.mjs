// What each Ledger on a key's path costs: the platform operations with one to four Ledgers (those of the root, a department,
// a team and the project), counted like those of hops.mjs, and the difference that each Ledger makes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayConfig, measured, plant } from './gateway.mjs'
import { checked, dollars, mean, prepare, Sender, unrest } from './hops.mjs'
import { QUICK } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { serve } from './workerd.mjs'

const SCALE = QUICK ? 0.1 : 1
const LEDGERS = [1, 2, 3, 4]
const PER_SECOND = 10 // of the default plan
// A busy key reports to the Ledgers above its project once a minute.
const REPORT_MS = QUICK ? 0 : 60_000
export const KEYS = 1000 * SCALE
const CROWD_INTERVAL_MS = 20
const USAGE_MS = 11_000 // longer than a key waits before it reports usage

const paced = (requests, intervalMs, perSecond) => (to, project, as) =>
  to.pace(requests * SCALE, intervalMs, (i) => to.send(project, `${as} ${i}`, { as }), perSecond)

// The kinds of requests. targets are the most that each further Ledger may add.
const kinds = [
  {
    kind: 'cold',
    title: 'first request of a key',
    targets: { calls: 2, rows: 7 },
    run: (to, project, as) =>
      to.pace(20 * SCALE, 500, (i) => to.send(project, `${as} ${i}`, { as, key: project.keys[i] })),
  },
  {
    kind: 'warm',
    title: 'default plan, 10 requests per second for 60 s',
    targets: { calls: 0.02, rows: 0.05, dollars: 0.1 },
    warm: 'gateway',
    run: paced(600, 100, PER_SECOND - 1),
  },
  {
    kind: 'lent',
    title: 'plan with leases, 100 requests per second for 10 s',
    targets: { calls: 0.01 },
    warm: 'gateway',
    run: paced(1000, 10),
  },
  {
    kind: 'lone',
    title: 'only request of a project',
    targets: { calls: 2, rows: 7 },
    run: async (to, project, as) => [await to.send(project, `${as} 0`, { as })],
  },
]
const [cold, warm, lent, lone] = kinds

/**
 * Sends the first requests of many keys below the root. Each makes a call of the root's Ledger, and a second one ten seconds
 * later. Returns the responses that were not as expected.
 */
async function crowd(to, project) {
  const send = (i) => to.send(project, `crowd ${i}`, { as: 'crowd', key: project.keys[i] })
  const responses = await to.pace(KEYS, CROWD_INTERVAL_MS, send)
  await sleep(USAGE_MS)
  return responses.filter((response) => response !== '200 miss')
}

const p99 = (times) => times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1]

/** The time within which 99 % of the calls during the crowd were answered: those of the root's Ledger, and all others. */
async function crowdTimes(to) {
  const { root, others } = await (await fetch(`${to.urls.gateway}/bench/crowd`)).json()
  return { calls: root.length, p99: p99(root), othersP99: p99(others) }
}

/** Runs all kinds. The kinds that last a minute run in parallel with the others. */
async function runAll(to, seed) {
  const run = async (one, n) => {
    const unit = { ...one, n, name: `${one.kind}${n}`, wanted: '200 miss' }
    const project = seed[`chain-${unit.name}`]
    const before = await prepare(to, project, unit)
    return { ...unit, before, failure: checked(unit, await unit.run(to, project, unit.name)) }
  }
  const minute = [
    ...LEDGERS.map((n) => run(cold, n)),
    ...LEDGERS.map((n) => run(warm, n)),
    ...LEDGERS.map((n) => run(lone, n)),
    run({ ...warm, kind: 'end' }, 2),
  ]
  const done = []
  for (const n of LEDGERS) done.push(await run(lent, n))
  return [...(await Promise.all(minute)), ...done]
}

/**
 * Counts each kind with one to four Ledgers, and requests near the end of the budget at the top ("end"). Then it times the
 * root's Ledger while 1,000 keys need it.
 */
export async function levels(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('levels', measured(parts), upstreamURL, { inMemory: true }))
  const planted = Object.entries(seed).filter(([name]) => name.startsWith('chain-'))
  await plant(gateway.urls, ...planted.map(([, project]) => project))
  const to = new Sender(gateway.urls)
  const done = await runAll(to, seed)
  await sleep(REPORT_MS)
  const { counts, busy } = await to.settled()
  const wrong = await crowd(to, seed['chain-crowd'])
  const root = await crowdTimes(to)
  await stop(gateway.child)
  const { prices } = JSON.parse(readFileSync(join(BENCH, 'prices.json'), 'utf8'))
  const cases = done.map((one) => {
    const n = mean(one, counts, one.before ?? {})
    const [calls, rows] = [n.objectCalls + n.alarmsRung, n.rowsWritten + n.alarmsSet]
    const failure = one.failure ?? unrest(one, busy)
    return { ...one, failure, calls, rows, topCalls: n.topCalls, written: n.written, dollars: dollars(prices, n) }
  })
  const failure = wrong.length > 0 ? `of ${KEYS} requests of a crowd, ${wrong.length} failed: ${wrong[0]}` : undefined
  return {
    kinds: kinds.map(({ kind }) => cases.filter((one) => one.kind === kind)),
    end: cases.find(({ kind }) => kind === 'end'),
    root,
    failure,
  }
}
