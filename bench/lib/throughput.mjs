// Requests per second, CPU time per request and latency of the gateway, compared to minimal Workers in its place.
//
// workerd has no cache of its own. Its Cache API sends an HTTP request to another process for each lookup and each
// store. The gateway is therefore measured with and without it.
import { baselines } from './baselines.mjs'
import { Contender, Gateway, measure } from './contenders.mjs'
import { median, ratio } from './load.mjs'
import { SECONDS } from './options.mjs'
import { stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { ms, perSecond, row } from './table.mjs'
import { Tally } from './tally.mjs'
import { serve } from './workerd.mjs'

/** The values of POSTERN_LOG that write no line for a successful request. All other rows have the default. */
const QUIET = ['errors', 'off']

const governors = [
  ['Governor off', 'bench', 'default'],
  ['Governor on', 'governed', 'default-governed'],
]

/** The rows of all measurements: the gateway with and without the Cache API, and their baselines. */
export async function throughput(parts, upstreamURL, seed) {
  const colo = await startColo()
  const projects = [seed.bench, seed.governed, seed.default, seed['default-governed']]
  const start = (name, options) => Gateway.start(name, parts, upstreamURL, projects, options)
  const caching = await start('gateway', { cacheURL: colo.url })
  const plain = await start('gateway-plain')
  const quiet = []
  for (const log of QUIET) quiet.push(await start(`gateway-log-${log}`, { variables: { POSTERN_LOG: log } }))
  const sample = await caching.tally.prime(seed.bench)
  const baseline = await serve(baselines(upstreamURL, sample, colo.url))
  const tally = new Tally(upstreamURL)
  const minimal = (socket, options) => new Contender(tally, baseline, socket, socket, options)
  const rows = await lending(caching, plain, quiet, minimal, seed)
  for (const project of [seed.bench, seed.governed]) await caching.tally.prime(project)
  rows.push(...(await cached(caching, minimal, seed)), ...(await alone(caching, plain, minimal, seed)))
  // The meters of the default plan report usage 10 s after a request, so the rounds of this plan come last.
  rows.push(...(await exact(caching, plain, minimal, seed)))
  for (const gateway of [caching, plain, ...quiet]) await gateway.stop()
  for (const child of [baseline.child, colo.child]) await stop(child)
  return rows
}

const contenders = (gateways, projects, plan) =>
  governors.flatMap(([name], i) => gateways.map((gateway) => gateway.contender(`${name}, ${plan}`, projects[i])))

async function lending(caching, plain, quiet, minimal, seed) {
  const gateways = [caching, plain, ...quiet]
  const projects = governors.map(([, lending]) => seed[lending])
  const [proxy, cache, ...ours] = await measure([
    minimal('proxy'),
    minimal('proxy-cache'),
    ...contenders(gateways, projects, 'lending'),
  ])
  return governors.flatMap(([governor], i) => {
    const name = `uncached, plan with leases, ${governor}`
    const [withCache, without, ...others] = ours.slice(gateways.length * i)
    return [
      ...lent(name, withCache, proxy, cache),
      ...lent(`${name}, no Cache API`, without, proxy),
      ...QUIET.flatMap((log, j) => lent(`${name}, no Cache API, POSTERN_LOG=${log}`, others[j], proxy)),
    ]
  })
}

// A key reports its usage 10 s after a round. Rounds are long enough that this happens while another process is being
// measured. In short rounds, there would be one report for a few requests, whereas in steady use there is one for
// fifty. The operations per request include these reports.
async function exact(caching, plain, minimal, seed) {
  const objects = minimal('proxy-objects', { keys: seed.default.keys })
  const projects = governors.map(([, , exact]) => seed[exact])
  const [theirs, ...ours] = await measure([objects, ...contenders([caching, plain], projects, 'default')], 3 * SECONDS)
  return governors.flatMap(([name], i) => [
    ...called(`uncached, default plan, ${name}`, ours[2 * i], theirs),
    ...called(`uncached, default plan, ${name}, no Cache API`, ours[2 * i + 1], theirs),
  ])
}

function lent(name, ours, proxy, cache) {
  const most = cache === undefined ? 2.2 : 2.6
  const rows = [
    rate(`${name}, against a bare proxy`, ours, proxy, 0.38),
    cpu(`${name}, against a bare proxy`, ours, proxy, most),
  ]
  if (cache !== undefined) {
    rows.push(cpu(`${name}, against a proxy that also uses the Cache API`, ours, cache))
  }
  return rows
}

const called = (name, ours, objects) => [
  rate(`${name}, against a proxy with two object calls`, ours, objects, 0.75),
  cpu(`${name}, against a proxy with two object calls`, ours, objects),
]

async function cached(caching, minimal, seed) {
  const mode = 'same'
  const [constant, answer, ...ours] = await measure([
    minimal('constant', { mode }),
    minimal('answer', { mode }),
    ...governors.map(([name, lending]) => caching.contender(`${name}, hit`, seed[lending], { mode })),
  ])
  return governors.flatMap(([name], i) => [
    rate(`hit in memory, plan with leases, ${name}, against one object call`, ours[i], constant, 1),
    rate(
      `hit in memory, plan with leases, ${name}, against a Worker that reads, logs and sends a fixed response`,
      ours[i],
      answer,
      0.5,
    ),
    cpu(
      `hit in memory, plan with leases, ${name}, against a Worker that reads, logs and sends a fixed response`,
      ours[i],
      answer,
    ),
  ])
}

async function alone(caching, plain, minimal, seed) {
  const connections = 1
  const [proxy, miss, plainMiss, hit] = await measure([
    minimal('proxy', { connections }),
    caching.contender('alone', seed.bench, { connections }),
    plain.contender('alone', seed.bench, { connections }),
    caching.contender('alone, hit', seed.bench, { connections, mode: 'same' }),
  ])
  return [
    latency('latency of one connection, uncached, plan with leases, against a bare proxy', miss, proxy),
    latency(
      'latency of one connection, uncached, plan with leases, no Cache API, against a bare proxy',
      plainMiss,
      proxy,
    ),
    latency('latency of one connection, hit in memory, plan with leases, against a bare proxy', hit, proxy),
  ]
}

export function rate(name, ours, theirs, least) {
  const of = (results) => perSecond(median(results.map((r) => r.perSecond)))
  const value = ratio(ours, theirs, (r) => r.perSecond)
  return row(`${name}: requests`, of(ours), of(theirs), value, { least })
}

export function cpu(name, ours, theirs, most) {
  const of = (results) => ms(median(results.map((r) => r.cpuMs)))
  const value = ratio(ours, theirs, (r) => r.cpuMs)
  return row(`${name}: CPU per request`, of(ours), of(theirs), value, { most })
}

function latency(name, ours, theirs) {
  const at = (results, percentile) => median(results.map((r) => r[percentile]))
  const value = ratio(ours, theirs, (r) => r.p50ms)
  const note = `p99: ${ms(at(ours, 'p99ms'))} : ${ms(at(theirs, 'p99ms'))}`
  return row(name, ms(at(ours, 'p50ms')), ms(at(theirs, 'p50ms')), value, { note })
}
