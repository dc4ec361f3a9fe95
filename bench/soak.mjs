// make soak: sends requests and streams to a server and prints its memory before them, while they are sent, and during the
// minute that follows. The exit code is nonzero if a request fails, or if the memory afterwards is more than a fifth
// above the memory before.
//
// SOAK_ON (default "serve") is the server: `postern serve`, or the gateway on "workerd". SOAK_REQUESTS (default 20000) and
// SOAK_STREAMS (default 2000) are the minimum number of each. A full soak sends 1000000 requests. With SOAK_CACHE=on,
// responses are cached, which fills the memory cache. The memory may then be another 24 MiB higher, for the cache's
// 16 MiB of keys and values and the lists that order them.
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryBytes, stop } from './lib/process.mjs'
import { described, machine } from './lib/results.mjs'
import { closed, streams } from './lib/selfhosted/rounds.mjs'
import { build, startUpstream } from './lib/selfhosted/servers.mjs'
import { startSoaked } from './lib/soaked.mjs'
import { mib, table } from './lib/table.mjs'

const ON = process.env.SOAK_ON ?? 'serve'
const REQUESTS = Number(process.env.SOAK_REQUESTS ?? 20_000)
const STREAMS = Number(process.env.SOAK_STREAMS ?? 2_000)
const CACHED = process.env.SOAK_CACHE === 'on'
const CACHE_BYTES = CACHED ? 24 << 20 : 0
// V8 compiles the hottest code and chooses the size of its heap during the first thousands of requests.
const WARM = { connections: ON === 'workerd' ? 64 : 8, requests: ON === 'workerd' ? 10_000 : 1_000, streams: 8 }
const SOAK = { connections: 64, requests: REQUESTS, streams: STREAMS }
const READINGS = 10 // while the requests are sent
const ROUND_SECONDS = 5
const PAUSE_MS = 15_000
const AFTER_S = [10, 30, 60]
const MOST = 1.2

await build()
const upstream = await startUpstream()
const { server, details } = await startSoaked(ON, upstream, CACHED)
server.peer = true // its errors are counted and do not end the run
const rows = []
let errors = 0

async function note(when) {
  const { heapBytes, goroutines } = await details()
  const memory = memoryBytes(server.child, 'VmRSS')
  rows.push([when, mib(memory), heapBytes ? mib(heapBytes) : '–', `${goroutines ?? '–'}`, `${errors}`])
  return memory
}

/** Sends requests, then streams. reading is called after each of the given number of parts of the requests. */
async function send({ connections, requests, streams: count }, readings = 0, reading = async () => {}) {
  let sent = 0
  for (let next = 1; sent < requests; ) {
    const round = await closed(server, { connections, seconds: ROUND_SECONDS, keys: server.keys })
    sent += round.requests
    errors += round.errors
    for (; next < readings && sent * readings >= next * requests; next++) {
      if (sent * readings < (next + 1) * requests) await reading(sent)
    }
  }
  errors += (await streams(server, { connections, count })).errors
  return sent
}

await note('started')
await send(WARM)
await sleep(PAUSE_MS)
const before = await note('before')
const sent = await send(SOAK, READINGS, (n) => note(`after ${n.toLocaleString('en')} requests`))
await note('right after')
const end = performance.now()
let after
for (const seconds of AFTER_S) {
  await sleep(end + seconds * 1000 - performance.now())
  after = await note(`${seconds} s after`)
}
for (const { child } of [server, upstream]) await stop(child)
console.log(`${described(await machine())}\n`)
console.log(table(['', 'memory', 'heap in use', 'goroutines', 'errors'], rows, false))
const most = MOST * before + CACHE_BYTES
console.log(
  `\n${ON}: ${sent.toLocaleString('en')} requests and ${STREAMS.toLocaleString('en')} streams, ${errors} errors`,
)
console.log(`memory after a minute: ${(after / before).toFixed(2)} of that before; at most ${mib(most)}`)
process.exitCode = after > most || errors > 0 ? 1 : 0
