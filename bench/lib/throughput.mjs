// Rows 1 and 2: requests a second through the gateway and through the least that could stand in its place.
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load, median, ratio } from './load.mjs'
import { BENCH, stop } from './process.mjs'
import { perSecond, row } from './table.mjs'
import { configure, disk, modules, serve, worker } from './workerd.mjs'

const ROUNDS = 5
const SECONDS = 3
const WARM_SECONDS = 2
// Requests of a round that wrk had sent, but did not wait for when its time was up.
const ABANDONED = CONNECTIONS

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

/** Asks the gateway once and checks the answer's cache state. */
async function ask(url, key, prompt, state) {
  const response = await fetch(`${url}/api/ai/complete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ messages: [{ role: 'user', content: prompt }] }),
  })
  const { text } = await response.json()
  const got = response.headers.get('x-postern-cache')
  if (response.status !== 200 || got !== state || !text) throw new Error(`expected 200 ${state}: ${response.status} ${got}`)
}

async function upstreamCount(url) {
  return Number(await (await fetch(`${url}/count`)).text())
}

/** Runs contend, and checks that the upstream saw what it should have seen. */
async function counted(upstreamURL, contend, uncached) {
  const before = await upstreamCount(upstreamURL)
  const result = await contend()
  const seen = (await upstreamCount(upstreamURL)) - before
  const [least, most] = uncached ? [result.requests, result.requests + ABANDONED] : [0, 0]
  if (seen < least || seen > most) throw new Error(`${result.requests} requests, and the upstream saw ${seen}`)
  return result
}

/** What the project was billed for must be what it asked for. */
async function checkUsage(url, { key, projectId }, served, hits) {
  const response = await fetch(`${url}/api/usage?projectId=${projectId}&period=day`, { headers: { 'x-api-key': key } })
  const { cache, models } = await response.json()
  const requests = Object.values(models ?? {}).reduce((sum, model) => sum + model.requests, 0)
  const right = cache?.misses === served && cache.hits >= hits.least && cache.hits <= hits.most
  if (!right || requests !== served + cache.hits) {
    throw new Error(`usage: ${served} served, ${JSON.stringify(hits)} hits: ${JSON.stringify({ cache, models })}`)
  }
  return { requests, hits: cache.hits }
}

export async function throughput(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('gateway', parts, upstreamURL))
  const baseline = await serve(baselines(upstreamURL))
  await plant(gateway.urls, seed)
  const before = await upstreamCount(upstreamURL)
  let misses = 0
  let proxied = 0
  let sameRequests = 0
  const contend = (side, socket, mode, seconds, tag) => async (round) => {
    if (side === gateway && mode === 'same') await ask(side.urls.gateway, seed.key, 'sample', round === 0 && seconds === WARM_SECONDS ? 'miss' : 'hit')
    return counted(upstreamURL, () => load(side.urls[socket], side.child, { key: seed.key, mode, round: `${tag}${round}`, seconds }), mode === 'unique')
  }
  void misses, proxied, sameRequests, before, contend
}
