// make soak: sends requests and streams to `postern serve` and prints the server's memory before them, right after
// them, and during the minute that follows. The exit code is nonzero if a request fails, or if the memory afterwards
// is more than a fifth above the memory before.
//
// SOAK_REQUESTS (default 20000) and SOAK_STREAMS (default 2000) are the minimum number of each. With SOAK_CACHE=on,
// responses are cached, which fills the memory cache. The memory may then be another 24 MiB higher, for the cache's
// 16 MiB of keys and values and the lists that order them.
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryBytes, stop } from './lib/process.mjs'
import { closed, streams } from './lib/selfhosted/rounds.mjs'
import { build, freePort, seed, startPostern, startUpstream } from './lib/selfhosted/servers.mjs'
import { mib, table } from './lib/table.mjs'

const REQUESTS = Number(process.env.SOAK_REQUESTS ?? 20_000)
const STREAMS = Number(process.env.SOAK_STREAMS ?? 2_000)
const CACHED = process.env.SOAK_CACHE === 'on'
const CACHE_BYTES = CACHED ? 24 << 20 : 0
const WARM = { connections: 8, requests: 1_000, streams: 8 }
const SOAK = { connections: 64, requests: REQUESTS, streams: STREAMS }
const ROUND_SECONDS = 2
const PAUSE_MS = 15_000
const AFTER_S = [10, 30, 60]
const MOST = 1.2

await build()
const upstream = await startUpstream()
const ops = `127.0.0.1:${await freePort()}`
const postern = await seed(await startPostern('soak', upstream, ['--ops-listen', ops]), {
  cacheTtlSeconds: CACHED ? 3600 : 0,
})
const rows = []

/** The Go runtime's figures, from the metrics. */
async function heap() {
  const text = await (await fetch(`http://${ops}/metrics`)).text()
  const value = (name) => Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))[1])
  return { live: value('go_memstats_heap_inuse_bytes'), goroutines: value('go_goroutines') }
}

async function note(when) {
  const { live, goroutines } = await heap()
  const memory = memoryBytes(postern.child, 'VmRSS')
  rows.push([when, mib(memory), mib(live), String(goroutines)])
  return memory
}

async function send({ connections, requests, streams: count }) {
  for (let left = requests; left > 0; ) {
    left -= (await closed(postern, { connections, seconds: ROUND_SECONDS, keys: postern.keys })).requests
  }
  await streams(postern, { connections, count })
}

await note('started')
await send(WARM)
await sleep(PAUSE_MS)
const before = await note('before')
await send(SOAK)
await note('right after')
const end = performance.now()
let after
for (const seconds of AFTER_S) {
  await sleep(end + seconds * 1000 - performance.now())
  after = await note(`${seconds} s after`)
}
for (const { child } of [postern, upstream]) await stop(child)
console.log(table(['', 'memory', 'heap in use', 'goroutines'], rows, false))
const most = MOST * before + CACHE_BYTES
console.log(`\nmemory after a minute: ${(after / before).toFixed(2)} of that before; at most ${mib(most)}`)
process.exitCode = after > most ? 1 : 0
