// A simulated geography: the gateway's object calls and KV reads are delayed as if objects and KV were far away. It
// measures by how much the gateway delays the first token, compared to a bare proxy in front of the same upstream and
// to a proxy behind one object call.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayConfig, measured, plant } from './gateway.mjs'
import { median } from './load.mjs'
import { QUICK } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { configure, disk, modules, serve, worker } from './workerd.mjs'

const OBJECT_MS = [5, 50, 150]
const KV_MS = [30, 120]
const REQUESTS = QUICK ? 10 : 100
const HOT_MS = 30 // between requests of a hot key
const PER_SECOND_MS = 115 // between requests on the default plan, which admits ten in any second
const WARM = 5

const folder = join(BENCH, 'workers')

/** The time to the first byte of a stream, in milliseconds. */
async function firstByte(url, headers, prompt) {
  const body = JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages: [{ role: 'user', content: prompt }] })
  const started = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache', ...headers },
    body,
  })
  const reader = response.body.getReader()
  await reader.read()
  const took = performance.now() - started
  while (!(await reader.read()).done);
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`)
  return took
}

/**
 * Sends requests one after another, at least intervalMs apart. Requests to the proxies alternate with those to the
 * gateway.
 */
async function added({ urls, proxies }, key, objectMs, kvMs, { requests, intervalMs, name }) {
  const [more, beyond] = [[], []]
  for (let i = -WARM; i < requests; i++) {
    const start = performance.now()
    const prompt = `brief ${name} ${objectMs} ${kvMs} ${i}`
    const headers = { 'x-bench': `geography/${i},${objectMs},${kvMs}` }
    const ms = await firstByte(`${urls.gateway}/v1/chat/completions`, { 'x-api-key': key, ...headers }, prompt)
    const bare = await firstByte(proxies.urls.proxy, {}, prompt)
    const far = await firstByte(proxies.urls['proxy-far'], headers, prompt)
    if (i >= 0) {
      // Compare consecutive requests, because the machine's load changes.
      more.push(ms - bare)
      beyond.push(ms - far)
    }
    await sleep(Math.max(1, start + intervalMs - performance.now()))
  }
  more.sort((a, b) => a - b)
  const at = (percent) => more[Math.min(more.length - 1, Math.floor((more.length * percent) / 100))]
  return { p50: median(more), p95: at(95), beyond: median(beyond) }
}

/** The added times for a hot key on a plan with leases and for a key on the default plan, for each pair of delays. */
export async function geography(parts, upstreamURL, seed) {
  const colo = await startColo()
  // The delays represent the entire call, including its commit, so this machine's disk must not add to them.
  const gateway = await serve(
    gatewayConfig('geography', measured(parts), upstreamURL, { colos: [colo.url], inMemory: true }),
  )
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const storage = disk('geography-row', { inMemory: true })
  const services = [
    storage,
    worker('proxy', modules(folder, 'proxy.js'), { texts }),
    worker('proxy-far', modules(folder, 'proxy-far.js', 'proxy.js', 'row.js'), {
      texts,
      bindings: [{ name: 'ROW', durableObjectNamespace: { className: 'Row' } }],
      classes: ['Row'],
      disk: storage.name,
    }),
  ]
  const proxies = await serve(configure('geography-proxies', services, ['proxy', 'proxy-far']))
  await plant(gateway.urls, seed.hot, seed.warm)
  const at = { urls: gateway.urls, proxies }
  const results = []
  for (const kvMs of KV_MS) {
    for (const objectMs of OBJECT_MS) {
      const hot = { requests: REQUESTS, intervalMs: HOT_MS, name: 'hot' }
      const warm = { requests: REQUESTS / 5, intervalMs: PER_SECOND_MS, name: 'warm' }
      results.push({
        objectMs,
        kvMs,
        lending: await added(at, seed.hot.keys[0], objectMs, kvMs, hot),
        exact: await added(at, seed.warm.keys[0], objectMs, kvMs, warm),
      })
    }
  }
  for (const { child } of [gateway, proxies, colo]) await stop(child)
  return results
}
