// Rounds of load on one server: throughput, latency at a fixed rate, streams.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { client } from '../latency.mjs'
import { load, median } from '../load.mjs'
import { cpuSeconds } from '../process.mjs'

const PATH = '/v1/chat/completions'
const CHUNKS = 500
let rounds = 0

/** A name that no other round has. */
const unique = () => `round ${process.pid} ${rounds++}`

/** Requests per second and CPU time per request under closed-loop load. mode is "unique" or "same". */
export function closed(server, { connections, seconds, mode = 'unique', keys = [server.key] }) {
  const options = {
    key: keys.join(','),
    mode,
    round: unique(),
    seconds,
    connections,
    more: [PATH, server.headers],
    peer: server.peer,
  }
  return load(server.url, server.child, options)
}

function send(server, options) {
  const headers = [server.headers, `x-api-key=${server.key}`].filter(Boolean).join(';')
  return client({ url: server.url + PATH, name: unique(), headers, peer: Boolean(server.peer), ...options })
}

/** Latencies of requests at a fixed rate. */
export const open = (server, { connections, rate, seconds }) =>
  send(server, { connections, rate, count: Math.ceil(rate * seconds) })

/**
 * Streams of 500 chunks: chunks per second of the server's CPU time. If paced is set, a stream has one chunk per
 * millisecond. Otherwise, its chunks come as fast as possible.
 */
export async function streams(server, { connections, count, paced = false }) {
  const before = cpuSeconds(server.child)
  const result = await send(server, { connections, count, ...(paced ? { prompt: 'paced' } : {}) })
  return { ...result, perCore: ((result.requests - result.failed) * CHUNKS) / (cpuSeconds(server.child) - before) }
}

/** The median time in milliseconds to write 4 KB to a file in a directory and make them durable. */
export function syncMs(directory) {
  const path = join(directory, 'sync.tmp')
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4096, 'x')
  const times = []
  for (let i = 0; i < 300; i++) {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  rmSync(path)
  return median(times)
}
