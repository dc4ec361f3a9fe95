// Requests a second through the gateway, and through the least that could stand in its place.
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load, median, ratio } from './load.mjs'
import { BENCH, stop } from './process.mjs'
import { perSecond, row } from './table.mjs'
import { configure, disk, modules, serve, worker } from './workerd.mjs'

const ROUNDS = 5
const SECONDS = 3
const WARM_SECONDS = 2

function baselineConfig(upstreamURL) {
  const workers = join(BENCH, 'workers')
  const storage = disk('baseline-objects')
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const object = {
    texts,
    bindings: [{ name: 'ROW', durableObjectNamespace: { className: 'Row' } }],
    classes: ['Row'],
    disk: storage.name,
  }
  const services = [
    storage,
    worker('proxy', modules(workers, 'proxy.js'), { texts }),
    worker('proxy-objects', modules(workers, 'proxy-objects.js', 'proxy.js', 'row.js'), object),
    worker('constant', modules(workers, 'constant.js', 'row.js'), object),
  ]
  return configure('baselines', services, ['proxy', 'proxy-objects', 'constant'])
}

/** Asks the gateway once and checks the answer and its cache state. */
async function ask(url, key, state) {
  const response = await fetch(`${url}/api/ai/complete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Is anybody there?' }] }),
  })
  const answer = await response.json()
  const got = response.headers.get('x-postern-cache')
  if (response.status !== 200 || got !== state || !answer.text || answer.cacheHit !== (state === 'hit')) {
    throw new Error(`expected 200 and a ${state}: ${response.status} ${got} ${JSON.stringify(answer)}`)
  }
}

/**
 * Every answer must be in the usage report, and every miss at the upstream, once. wrk does not wait for the
 * answers that are under way when a round ends, and a cache is filled only when the first answer is there:
 * that many more misses, or fewer hits, may be right.
 */
async function checkUsage(url, { key, projectId }, upstreamURL, sent) {
  const response = await fetch(`${url}/api/usage?projectId=${projectId}&period=day`, { headers: { 'x-api-key': key } })
  const { cache, models } = await response.json()
  const requests = Object.values(models ?? {}).reduce((sum, model) => sum + model.requests, 0)
  const seen = Number(await (await fetch(`${upstreamURL}/count`)).text())
  const slack = CONNECTIONS * (sent.rounds + 1)
  const near = (count, wanted) => count >= wanted - slack && count <= wanted + slack
  const right = requests === seen + cache?.hits && cache.misses === seen && near(seen, sent.unique) && near(cache.hits, sent.same)
  if (!right) throw new Error(`sent ${JSON.stringify(sent)}, upstream saw ${seen}, report ${JSON.stringify({ cache, models })}`)
  return `${requests.toLocaleString('en')} answers of the gateway, all 200: ${seen.toLocaleString('en')} misses and as many calls upstream, ${cache.hits.toLocaleString('en')} hits; all in the usage report`
}

const rate = (result) => result.perSecond
const rates = (results) => perSecond(median(results.map(rate)))
const cpu = (results) => median(results.map((result) => result.cpuMs))

// One row: the gateway's results against a baseline's.
function compared(name, ours, theirs, least) {
  const note = `CPU ${cpu(ours).toFixed(2)} : ${cpu(theirs).toFixed(2)} ms a request`
  return row(name, rates(ours), rates(theirs), ratio(ours, theirs, rate), { least, note })
}

/** Runs the load; upstreams are one for the gateway and one for the baselines. */
export async function throughput(parts, upstreams, seed) {
  const gateway = await serve(gatewayConfig('gateway', parts, upstreams.gateway))
  const baseline = await serve(baselineConfig(upstreams.baseline))
  await plant(gateway.urls, seed)
  await ask(gateway.urls.gateway, seed.key, 'miss')
  await ask(gateway.urls.gateway, seed.key, 'hit')
  const sent = { unique: 1, same: 1, rounds: 0 }
  const contender = ({ urls, child }, socket, mode) => async (round) => {
    const seconds = round < 0 ? WARM_SECONDS : SECONDS
    const result = await load(urls[socket], child, { key: seed.key, mode, round: `${round}`, seconds })
    if (child === gateway.child) {
      sent[mode] += result.requests
      sent.rounds++
    }
    return result
  }
  const contest = async (mode, sockets) => {
    const contenders = [contender(gateway, 'gateway', mode), ...sockets.map((socket) => contender(baseline, socket, mode))]
    for (const contend of contenders) await contend(-1)
    return interleave(ROUNDS, contenders)
  }
  const [uncached, proxy, proxyObjects] = await contest('unique', ['proxy', 'proxy-objects'])
  const [hits, constant] = await contest('same', ['constant'])
  const checked = await checkUsage(gateway.urls.gateway, seed, upstreams.gateway, sent)
  await Promise.all([stop(gateway.child), stop(baseline.child)])
  return {
    rows: [
      compared('uncached : 10-line proxy', uncached, proxy, 0.3),
      compared('uncached : proxy with two object calls', uncached, proxyObjects, 0.75),
      compared('hit from host memory : one object call, constant', hits, constant, 0.7),
    ],
    checked,
    cpuMs: { uncached: cpu(uncached), hit: cpu(hits) },
  }
}
