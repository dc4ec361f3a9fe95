// Cost per chunk of a stream: the same 500 chunks through the gateway and through identity proxies.
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, median, ratio } from './load.mjs'
import { ROUNDS } from './options.mjs'
import { BENCH, cpuSeconds, stop } from './process.mjs'
import { ms, row } from './table.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const STREAMS = 5 // sequential, on each connection
const CHUNKS = 500
const CONTENT = '"content":"' // once in each chunk

function baselines(upstreamURL) {
  const workers = join(BENCH, 'workers')
  const texts = { UPSTREAM: `${upstreamURL}/v1/chat/completions`, UPSTREAM_KEY: 'sk-bench' }
  const services = ['proxy', 'pump'].map((name) => worker(name, modules(workers, `${name}.js`), { texts }))
  return configure('stream-baselines', services, ['proxy', 'pump'])
}

/** Reads one stream to its end. Times are in milliseconds. */
async function read(url, key, prompt) {
  const started = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, 'cache-control': 'no-store' },
    body: JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages: [{ role: 'user', content: prompt }] }),
  })
  let first = 0
  let tail = ''
  let chunks = 0
  for await (const piece of response.body) {
    first ||= performance.now() - started
    const text = tail.slice(1 - CONTENT.length) + Buffer.from(piece).toString('latin1') // pieces end anywhere
    chunks += text.split(CONTENT).length - 1
    tail = (tail + text).slice(-32)
  }
  if (response.status !== 200 || chunks !== CHUNKS || !tail.endsWith('data: [DONE]\n\n')) {
    throw new Error(`${url}: ${response.status}, ${chunks} chunks, ends with ${JSON.stringify(tail)}`)
  }
  return { first, total: performance.now() - started }
}

/** One round of streams on all connections. CPU time is that of the entire process. */
async function round(side, socket, path, key, name) {
  const before = cpuSeconds(side.child)
  const times = []
  const connection = async (_, i) => {
    for (let n = 0; n < STREAMS; n++) times.push(await read(side.urls[socket] + path, key, `${name} ${i} ${n}`))
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
  return {
    cpuUs: ((cpuSeconds(side.child) - before) * 1e6) / (times.length * CHUNKS),
    first: median(times.map((t) => t.first)),
    total: median(times.map((t) => t.total)),
  }
}

/** The rows for a paced stream (one chunk per millisecond) and for one that arrives in bursts. */
export async function streams(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('stream-gateway', parts, upstreamURL))
  const baseline = await serve(baselines(upstreamURL))
  await plant(gateway.urls, seed.bench)
  const [key] = seed.bench.keys
  const rows = []
  for (const pace of ['paced', 'burst']) {
    const contenders = [
      (n) => round(gateway, 'gateway', '/v1/chat/completions', key, `${pace} ${n}`),
      (n) => round(baseline, 'proxy', '/', key, `${pace} ${n}`),
      (n) => round(baseline, 'pump', '/', key, `${pace} ${n}`),
    ]
    for (const contend of contenders) await contend('warm')
    const [ours, proxy, pump] = await interleave(ROUNDS, contenders)
    rows.push(
      ...compare(pace, ours, pump, 'an identity pump', [1.5, 1.25]),
      ...compare(pace, ours, proxy, 'a pass-through'),
    )
  }
  await Promise.all([stop(gateway.child), stop(baseline.child)])
  return rows
}

// In a pass-through, the platform moves the chunks. Only the proxy that reads them in JavaScript has a target.
function compare(pace, ours, theirs, name, [mostTime, mostCPU] = []) {
  const line = (what, field, unit, target) => {
    const of = (results) => unit(median(results.map((r) => r[field])))
    const value = ratio(ours, theirs, (r) => r[field])
    return row(`${CHUNKS} chunks, ${pace}, against ${name}: ${what}`, of(ours), of(theirs), value, { most: target })
  }
  const us = (n) => `${n.toFixed(1)} µs`
  return [
    line('time', 'total', ms, mostTime),
    line('CPU per chunk', 'cpuUs', us, mostCPU),
    line('first byte', 'first', ms),
  ]
}
