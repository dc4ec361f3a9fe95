// A simulated geography: the gateway with object calls and KV reads delayed as if objects and KV were far away, and the time
// to first token that it adds to a bare proxy in front of the same upstream.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayConfig, measured, plant } from './gateway.mjs'
import { median } from './load.mjs'
import { QUICK } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const OBJECT_MS = [5, 50, 150]
const KV_MS = [30, 120]
const REQUESTS = QUICK ? 10 : 100
const HOT_MS = 30 // between requests of a hot key
const PER_SECOND_MS = 115 // between requests of the default plan, which admits ten in any second
const WARM = 5

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

/** Requests one after the other, at least intervalMs apart. The proxy's take turns with the gateway's. */
async function added({ urls, proxy }, key, objectMs, kvMs, { requests, intervalMs, name }) {
  const [ours, theirs] = [[], []]
  for (let i = -WARM; i < requests; i++) {
    const start = performance.now()
    const prompt = `brief ${name} ${objectMs} ${kvMs} ${i}`
    const ms = await firstByte(
      `${urls.gateway}/v1/chat/completions`,
      { 'x-api-key': key, 'x-bench': `geography/${i},${objectMs},${kvMs}` },
      prompt,
    )
    const bare = await firstByte(proxy.urls.proxy, {}, prompt)
    if (i >= 0) {
      ours.push(ms)
      theirs.push(bare)
    }
    await sleep(Math.max(1, start + intervalMs - performance.now()))
  }
  // Differences of neighbors, because the load of the machine changes.
  const sorted = ours.map((ms, i) => ms - theirs[i]).sort((a, b) => a - b)
  const at = (percent) => sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]
  return { p50: median(sorted), p95: at(95), roundTrips: objectMs === 0 ? 0 : median(sorted) / objectMs }
}

/** The added times of a hot key on a lending plan and of a key on the default plan, for each pair of delays. */
export async function geography(parts, upstreamURL, seed) {
  const colo = await startColo()
  // The delays stand for the whole call, its commit included. So this machine's disk must not add to them.
  const gateway = await serve(
    gatewayConfig('geography', measured(parts), upstreamURL, { colos: [colo.url], inMemory: true }),
  )
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const bare = [worker('proxy', modules(join(BENCH, 'workers'), 'proxy.js'), { texts })]
  const proxy = await serve(configure('geography-proxy', bare, ['proxy']))
  await plant(gateway.urls, seed.hot, seed.warm)
  const at = { urls: gateway.urls, proxy }
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
  for (const { child } of [gateway, proxy, colo]) await stop(child)
  return results
}
