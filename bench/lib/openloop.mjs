// Latencies of the gateway and of a bare proxy in plain workerd, at fixed rates: shares of the throughput that the gateway
// reaches under closed load. Neither uses the Cache API.
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { client, head, openLoads } from './latency.mjs'
import { CONNECTIONS, load, median } from './load.mjs'
import { QUICK, ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const OPEN_CONNECTIONS = 64
const OPEN_SECONDS = QUICK ? 1 : 5
const OPEN_ROUNDS = QUICK ? 1 : 3
const PATH = '/v1/chat/completions'
let rounds = 0

/** A server's rounds at a fixed rate. */
function contender(name, url, key) {
  const open = (rate) =>
    client({
      url: url + PATH,
      headers: `x-api-key=${key}`,
      name: `open ${process.pid} ${rounds++}`,
      connections: OPEN_CONNECTIONS,
      rate,
      count: Math.ceil(rate * OPEN_SECONDS),
    })
  return { name, open }
}

/** The gateway's throughput under closed load, in requests per second. */
async function throughput(url, child, key) {
  const options = { key, mode: 'unique', connections: CONNECTIONS, more: [PATH, ''] }
  await load(url, child, { ...options, round: 'closed warm', seconds: WARM_SECONDS })
  const results = []
  for (let i = 0; i < Math.min(ROUNDS, 3); i++)
    results.push(await load(url, child, { ...options, round: `closed ${i}`, seconds: SECONDS }))
  return median(results.map((r) => r.perSecond))
}

export async function latency(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('latency', parts, upstreamURL))
  await plant(gateway.urls, seed.governed)
  const texts = { UPSTREAM: `${upstreamURL}${PATH}`, UPSTREAM_KEY: 'sk-bench' }
  const source = modules(join(BENCH, 'workers'), 'proxy.js')
  const proxy = await serve(configure('latency-proxy', [worker('proxy', source, { texts })], ['proxy']))
  const [key] = seed.governed.keys
  const reached = await throughput(gateway.urls.gateway, gateway.child, key)
  const servers = [
    contender('Postern, plan with leases, Governor on', gateway.urls.gateway, key),
    contender('bare proxy', proxy.urls.proxy, 'none'),
  ]
  const { rows } = await openLoads(servers, reached, OPEN_ROUNDS)
  for (const { child } of [gateway, proxy]) await stop(child)
  return { head, rows, notes: [`Requests are due at fixed times and sent on at most ${OPEN_CONNECTIONS} connections.`] }
}
