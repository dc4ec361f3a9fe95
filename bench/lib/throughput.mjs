// Requests per second, CPU per request and latency of the gateway against minimal Workers in its place.
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load, median, ratio } from './load.mjs'
import { BENCH, stop } from './process.mjs'
import { ms, perSecond, row } from './table.mjs'
import { configure, disk, modules, serve, worker } from './workerd.mjs'

const ROUNDS = 5
const SECONDS = 3
const WARM_SECONDS = 2
// The most requests that wrk abandons at the end of a round, in this round and the previous one, whose requests may
// reach the upstream late.
const ABANDONED = 2 * CONNECTIONS

function baselines(upstreamURL) {
  const workers = join(BENCH, 'workers')
  const storage = disk('baseline-objects')
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const objects = {
    texts,
    bindings: [{ name: 'ROW', durableObjectNamespace: { className: 'Row' } }],
    classes: ['Row'],
    disk: storage.name,
  }
  const services = [
    storage,
    worker('proxy', modules(workers, 'proxy.js'), { texts }),
    worker('proxy-objects', modules(workers, 'proxy-objects.js', 'proxy.js', 'row.js'), objects),
    worker('constant', modules(workers, 'constant.js', 'row.js'), objects),
  ]
  return configure('baselines', services, ['proxy', 'proxy-objects', 'constant'])
}

/** Sends one request to the gateway and checks the cache state of the response. */
async function ask(url, key, prompt, state) {
  const response = await fetch(`${url}/api/ai/complete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ messages: [{ role: 'user', content: prompt }] }),
  })
  const { text } = await response.json()
  const got = response.headers.get('x-postern-cache')
  if (response.status !== 200 || got !== state || !text)
    throw new Error(`expected 200 ${state}: ${response.status} ${got}`)
}

async function upstreamCount(url) {
  return Number(await (await fetch(`${url}/count`)).text())
}

/** Runs contend and checks the number of requests that reached the upstream. */
async function counted(upstreamURL, contend, uncached) {
  const before = await upstreamCount(upstreamURL)
  const result = await contend()
  const seen = (await upstreamCount(upstreamURL)) - before
  const [least, most] = uncached ? [result.requests, result.requests + ABANDONED] : [0, 0]
  if (seen < least || seen > most) throw new Error(`${result.requests} requests, but ${seen} reached the upstream`)
  return result
}

/** Checks that the project's usage counts every request once. */
async function checkUsage(url, { key, projectId }, served, hits) {
  const response = await fetch(`${url}/api/usage?projectId=${projectId}&period=day`, { headers: { 'x-api-key': key } })
  const { cache } = await response.json()
  // Usage might include requests that wrk abandoned.
  const near = (got, expected) => got >= expected && got <= expected + ABANDONED * (4 * ROUNDS + 4)
  if (!near(cache.misses, served) || !near(cache.hits, hits)) {
    throw new Error(`usage: ${served} served and ${hits} hits, but the report says ${JSON.stringify(cache)}`)
  }
}

/** The rows for throughput with CPU time, and for latency. */
export async function throughput(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('gateway', parts, upstreamURL))
  const baseline = await serve(baselines(upstreamURL))
  await plant(gateway.urls, seed)
  let [served, hits] = [1, 0]
  await ask(gateway.urls.gateway, seed.key, 'sample', 'miss')
  const contender = (side, socket, mode, connections) => async (round, seconds) => {
    const options = { key: seed.key, mode, round: `${socket}${connections}.${round}`, seconds, connections }
    const run = () => load(side.urls[socket], side.child, options)
    const result = await counted(upstreamURL, run, mode === 'unique')
    if (side === gateway && mode === 'unique') served += result.requests
    if (side === gateway && mode === 'same') hits += result.requests
    return result
  }
  const uncached = [
    contender(gateway, 'gateway', 'unique'),
    contender(baseline, 'proxy', 'unique'),
    contender(baseline, 'proxy-objects', 'unique'),
  ]
  const [ours, proxy, objects] = await measure(uncached)
  const [alone, proxyAlone] = await measure([
    contender(gateway, 'gateway', 'unique', 1),
    contender(baseline, 'proxy', 'unique', 1),
  ])
  // Stores the response for the prompt of mode "same", so that every later request is a hit.
  served +=
    (await load(gateway.urls.gateway, gateway.child, { key: seed.key, mode: 'same', round: 'first', seconds: 1 })) && 1
  hits = await hitsSoFar(gateway.urls.gateway, seed)
  const cached = [
    contender(gateway, 'gateway', 'same'),
    contender(baseline, 'constant', 'same'),
    contender(gateway, 'gateway', 'same', 1),
  ]
  const [hit, constant, hitAlone] = await measure(cached)
  await checkUsage(gateway.urls.gateway, seed, served, hits)
  await Promise.all([stop(gateway.child), stop(baseline.child)])
  return [
    compare('uncached, against a bare proxy', ours, proxy, 0.3),
    compare('uncached, against a proxy and two object calls', ours, objects, 0.75),
    compare('hit in memory, against one object call', hit, constant, 0.7),
    latency('latency of one connection, uncached, against a bare proxy', alone, proxyAlone),
    latency('latency of one connection, hit in memory, against a bare proxy', hitAlone, proxyAlone),
  ]
}

async function hitsSoFar(url, { key, projectId }) {
  const response = await fetch(`${url}/api/usage?projectId=${projectId}&period=day`, { headers: { 'x-api-key': key } })
  return (await response.json()).cache.hits
}

/** Runs a warm-up round, then the interleaved rounds. */
async function measure(contenders) {
  for (const contend of contenders) await contend('warm', WARM_SECONDS)
  return interleave(
    ROUNDS,
    contenders.map((contend) => (round) => contend(round, SECONDS)),
  )
}

function compare(name, ours, theirs, least) {
  const rate = (results) => perSecond(median(results.map((r) => r.perSecond)))
  const cpu = (results) => median(results.map((r) => r.cpuMs)).toFixed(2)
  const value = ratio(ours, theirs, (r) => r.perSecond)
  return row(name, rate(ours), rate(theirs), value, {
    least,
    note: `CPU ms per request: ${cpu(ours)} : ${cpu(theirs)}`,
  })
}

function latency(name, ours, theirs) {
  const at = (results, percentile) => median(results.map((r) => r[percentile]))
  const value = ratio(ours, theirs, (r) => r.p50ms)
  const note = `p99: ${ms(at(ours, 'p99ms'))} : ${ms(at(theirs, 'p99ms'))}`
  return row(name, ms(at(ours, 'p50ms')), ms(at(theirs, 'p50ms')), value, { note })
}
