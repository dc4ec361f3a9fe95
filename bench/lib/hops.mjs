// Platform operations per request, counted in workerd with the Worker that is deployed, and their cost at
// Cloudflare's list prices (bench/prices.json). The counts include everything that happens until a request's usage is
// reported: object calls, alarms, and rows of all objects.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayConfig, measured, plant } from './gateway.mjs'
import { QUICK } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { sparseCases } from './sparse.mjs'
import { serve } from './workerd.mjs'

const SCALE = QUICK ? 0.1 : 1
const SECOND_MS = 1001 // a timer may fire a millisecond early
const PER_SECOND = 10 // of the default plan
const PRIMED = 200 * SCALE
const AT_ONCE = 50
const FLIGHTS = 10 * SCALE
// Longer than the gateway waits before it reports usage, and before it repeats a delivery.
const QUIET_MS = 8000
const POLL_MS = 1000
const SETTLE_TIMEOUT_MS = 60_000

const operations = [
  'objectCalls',
  'topCalls',
  'alarmsRung',
  'rowsRead',
  'rowsWritten',
  'alarmsSet',
  'kvReads',
  'kvWrites',
]

/** Dollars per million requests, excluding CPU time, duration and the amounts that a plan includes. */
export function dollars(prices, n) {
  return (
    prices.workerRequests +
    (n.objectCalls + n.alarmsRung) * prices.objectRequests +
    n.kvReads * prices.kvReads +
    n.kvWrites * prices.kvWrites +
    n.rowsRead * prices.rowsRead +
    (n.rowsWritten + n.alarmsSet) * prices.rowsWritten
  )
}

/** The tags whose counts have changed. */
function busy(before, now) {
  return Object.keys(now).filter((tag) => JSON.stringify(now[tag]) !== JSON.stringify(before[tag]))
}

/** Sends requests to one deployment, each counted as part of a case. */
export class Sender {
  sent = 0

  constructor(urls) {
    this.urls = urls
  }

  /** Returns the status and the cache state. */
  async send(project, prompt, { as = '', number = this.sent++, key = project.keys[0], socket = 'gateway' } = {}) {
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    if (as !== '') headers['x-bench'] = `${as}/${number}`
    const body = JSON.stringify({ messages: [{ role: 'user', content: prompt }] })
    const response = await fetch(`${this.urls[socket]}/api/ai/complete`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    return `${response.status} ${response.headers.get('x-postern-cache') ?? ''}`.trim()
  }

  /**
   * Sends n requests, one every intervalMs, without waiting for responses. Each request is sent at least a second
   * after the response to the request perSecond places before it. A limit of perSecond requests per second therefore
   * cannot reject the request.
   */
  async pace(n, intervalMs, send, perSecond = n) {
    const start = performance.now()
    const ended = []
    const all = []
    for (let i = 0; i < n; i++) {
      if (i >= perSecond) await all[i - perSecond]
      const free = i >= perSecond ? ended[i - perSecond] + SECOND_MS : 0
      await sleep(Math.max(0, Math.max(start + i * intervalMs, free) - performance.now()))
      all.push(
        send(i).then((response) => {
          ended[i] = performance.now()
          return response
        }),
      )
    }
    return await Promise.all(all)
  }

  /** All counts so far, by tag. */
  async counts() {
    const counts = {}
    for (const [socket, url] of Object.entries(this.urls)) {
      if (socket === 'seed') continue
      for (const [tag, row] of Object.entries(await (await fetch(`${url}/bench/counts`)).json())) {
        counts[tag] ??= {}
        for (const [name, n] of Object.entries(row)) counts[tag][name] = (counts[tag][name] ?? 0) + n
      }
    }
    return counts
  }

  /** Waits until all objects are idle. Returns the counts, and the tags that were still busy after a minute. */
  async settled() {
    let counts = await this.counts()
    let tags = []
    const end = performance.now() + SETTLE_TIMEOUT_MS
    for (let quietMs = 0; quietMs < QUIET_MS && performance.now() < end; quietMs += POLL_MS) {
      await sleep(POLL_MS)
      const now = await this.counts()
      const changed = busy(counts, now)
      if (changed.length > 0) quietMs = 0
      if (changed.length > 0 || quietMs === 0) tags = changed
      counts = now
    }
    return { counts, busy: performance.now() < end ? [] : tags }
  }
}

// The kinds of requests. Only requests that get the wanted response are measured. Work without a request (alarms,
// deliveries) is divided equally among all admitted requests.
const cases = [
  {
    name: 'cold',
    title: 'first request of a key',
    wanted: '200 miss',
    run: (to, project) =>
      to.pace(20 * SCALE, 500, (i) => to.send(project, `cold ${i}`, { as: 'cold', key: project.keys[i] })),
  },
  {
    name: 'warm',
    title: 'uncached, default plan, 10 requests per second for 60 s',
    wanted: '200 miss',
    targets: { calls: 2.1, rows: 2.2, kv: 0, dollars: 3.2 },
    warm: 'gateway',
    run: (to, project) =>
      to.pace(600 * SCALE, 100, (i) => to.send(project, `warm ${i}`, { as: 'warm' }), PER_SECOND - 1),
  },
  {
    name: 'hot',
    title: 'uncached, plan with leases, 100 requests per second for 10 s',
    wanted: '200 miss',
    targets: { calls: 0.05, rows: 0.05, kv: 0, dollars: 0.6 },
    warm: 'gateway',
    run: (to, project) => to.pace(1000 * SCALE, 10, (i) => to.send(project, `hot ${i}`, { as: 'hot' })),
  },
  {
    name: 'memory',
    title: 'hit in memory, plan with leases, 100 requests per second for 10 s',
    wanted: '200 hit',
    warm: 'gateway',
    run: (to, project) => to.pace(1000 * SCALE, 10, () => to.send(project, 'warm up', { as: 'memory' })),
  },
  {
    name: 'colo',
    title: "hit in the data center's cache, plan with leases, 20 requests per second for 10 s",
    wanted: '200 hit',
    warm: 'gateway1',
    primed: 1,
    run: (to, project) =>
      to.pace(PRIMED, 50, (i) => to.send(project, `prime ${i}`, { as: 'colo', socket: 'gateway1' })),
  },
  {
    name: 'global',
    title: 'hit in KV, plan with leases, 20 requests per second for 10 s',
    wanted: '200 hit',
    warm: 'gateway2',
    primed: 2, // KV keeps a response after the second request for it
    run: (to, project) =>
      to.pace(PRIMED, 50, (i) => to.send(project, `prime ${i}`, { as: 'global', socket: 'gateway2' })),
  },
  {
    name: 'flight',
    title: `waiting for an identical request, plan with leases, ${AT_ONCE} at once, 10 times in a row`,
    wanted: '200 hit',
    warm: 'gateway',
    run: (to, project) => flights(to, project),
  },
  {
    name: 'flood',
    title: '429, default plan, 50 requests per second for 10 s',
    wanted: '429',
    run: (to, project) => to.pace(500 * SCALE, 20, (i) => to.send(project, `flood ${i}`, { as: 'flood' })),
  },
]

async function flights(to, project) {
  const all = []
  for (let n = 0; n < FLIGHTS; n++) {
    const one = () => to.send(project, `slow ${n}`, { as: 'flight' })
    all.push(...(await Promise.all(Array.from({ length: AT_ONCE }, one))))
  }
  return all
}

/** Fills the caches with another key, without counting. */
async function prime(to, project, { primed = 0 }) {
  for (let i = 0; i < primed * PRIMED; i++) {
    await to.send(project, `prime ${i % PRIMED}`, { key: project.keys[1] })
  }
}

// A key has a lease after this many requests. They are counted as work without a request, because one of them may
// still be renewing the lease when the case starts. prepare returns their cost up to the start of the case.
const WARM_UP = 3

export async function prepare(to, project, { name, warm }) {
  if (warm === undefined) return {}
  for (let i = 0; i < WARM_UP; i++) await to.send(project, 'warm up', { as: name, number: '', socket: warm })
  await sleep(SECOND_MS)
  return (await to.counts())[`${name}/`]
}

/** The mean counts of the responses that a case measures. */
export function mean({ name, wanted }, counts, before) {
  const own = Object.entries(counts).filter(([tag]) => tag.startsWith(`${name}/`))
  const asRequest = own.filter(([tag]) => tag !== `${name}/`)
  const chosen = asRequest.filter(([, row]) => row[wanted])
  const admitted = asRequest.filter(([, row]) => !row['429'])
  const behind = counts[`${name}/`] ?? {}
  const share = wanted === '429' ? 0 : 1 / admitted.length
  const perRequest = (what) => {
    const sum = chosen.reduce((total, [, row]) => total + (row[what] ?? 0), 0)
    return sum / chosen.length + ((behind[what] ?? 0) - (before[what] ?? 0)) * share
  }
  const kinds = new Set(own.flatMap(([, row]) => Object.keys(row)).filter((what) => /^[A-Z]/.test(what)))
  return {
    requests: chosen.length,
    ...Object.fromEntries(operations.map((what) => [what, perRequest(what)])),
    written: [...kinds].map((kind) => [kind, perRequest(kind)]).sort((a, b) => b[1] - a[1]),
  }
}

export function checked(one, responses) {
  const wanted = responses.filter((response) => response === one.wanted).length
  const least = { flood: 0.5, flight: 0.9 }[one.name] ?? 0.97
  const seen = JSON.stringify(
    Object.groupBy(responses, (r) => r),
    (_, v) => (Array.isArray(v) ? v.length : v),
  )
  if (wanted < least * responses.length)
    return `of ${responses.length} requests, ${wanted} were "${one.wanted}": ${seen}`
}

export function unrest({ name }, tags) {
  const own = tags.filter((tag) => tag.startsWith(`${name}/`))
  if (own.length > 0) return `its objects were still at work a minute later, for ${own}`
}

/** Counts a case whose keys have a project each. */
async function runSparse(to, one, seed, before, failures) {
  const projects = one.projects.map((name) => seed[name])
  before[one.name] = await one.prepare(to, projects)
  failures[one.name] = checked(one, await one.run(to, projects))
}

/** Counts each case. Cases of a minute or longer run in parallel with the others. */
export async function hops(parts, upstreamURL, seed) {
  const near = await startColo()
  const far = await startColo()
  const colos = [near.url, near.url, far.url]
  const gateway = await serve(gatewayConfig('hops', measured(parts), upstreamURL, { colos }))
  await plant(gateway.urls, ...cases.map(({ name }) => seed[name]))
  await plant(gateway.urls, ...sparseCases.flatMap(({ projects }) => projects.map((name) => seed[name])))
  const to = new Sender(gateway.urls)
  const failures = {}
  const before = {}
  const run = async (one) => {
    before[one.name] = await prepare(to, seed[one.name], one)
    failures[one.name] = checked(one, await one.run(to, seed[one.name]))
  }
  const [cold, warm, ...others] = cases
  for (const one of cases) await prime(to, seed[one.name], one)
  await run(cold)
  const long = [run(warm), ...sparseCases.map((one) => runSparse(to, one, seed, before, failures))]
  for (const one of others) await run(one)
  await Promise.all(long)
  const { counts, busy: restless } = await to.settled()
  for (const { child } of [gateway, near, far]) await stop(child)
  const { prices } = JSON.parse(readFileSync(join(BENCH, 'prices.json'), 'utf8'))
  return [cold, ...sparseCases, warm, ...others].map((one) => {
    const result = mean(one, counts, before[one.name] ?? {})
    return { ...one, ...result, failure: failures[one.name] ?? unrest(one, restless), dollars: dollars(prices, result) }
  })
}
