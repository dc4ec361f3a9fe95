// What bench/growth.mjs measures on a running server.
import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../load.mjs'
import { output, ROOT } from '../process.mjs'
import { ADMIN_TOKEN } from '../selfhosted/servers.mjs'

const POLL_MS = 500
const QUIET_POLLS = 6
const SETTLE_MS = 2_000 // for the settlement and the report of a request

/** The admin token of a server: a bench server's, unless it has its own. */
const tokenOf = ({ token = ADMIN_TOKEN }) => token

/** Reads a path of the admin API and returns its body as text. */
export async function admin(server, path) {
  const response = await fetch(`${server.url}/api/admin/${path}`, {
    headers: { authorization: `Bearer ${tokenOf(server)}` },
  })
  const body = await response.text()
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${body.slice(0, 500)}`)
  return body
}

/** The median and the 95th percentile of the time to read a path, in milliseconds, and the size of its body. */
export async function timed(server, path, samples) {
  const times = []
  let bytes = 0
  for (let i = 0; i < samples; i++) {
    const start = performance.now()
    bytes = (await admin(server, path)).length
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return { p50: median(times), p95: times[Math.ceil(samples * 0.95) - 1], bytes }
}

/** Imports a file and returns the time it took. */
export async function importFile(server, file) {
  const start = performance.now()
  process.env.POSTERN_ADMIN_TOKEN = tokenOf(server)
  await output(join(ROOT, 'build/postern'), ['import', file, '--url', server.url])
  return performance.now() - start
}

/** The sum of a metric of a server over its labels. */
async function metric(server, name) {
  const text = await (await fetch(`http://${server.ops}/metrics`)).text()
  const values = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0)
}

const objectCalls = (server) => metric(server, 'postern_object_commands_total')

/** Waits until the server has no more work of its own. Returns the time that it took. */
export async function settled(server) {
  const start = performance.now()
  for (let quiet = 0, last = -1; quiet < QUIET_POLLS; await sleep(POLL_MS)) {
    const calls = await objectCalls(server)
    quiet = calls === last ? quiet + 1 : 0
    last = calls
  }
  return performance.now() - start
}

/** Starts a server and returns the time from its start until it has answered the first list of the admin API. */
export async function firstResponse(begin) {
  const start = performance.now()
  const server = await begin()
  await admin(server, 'projects?limit=100')
  return { server, ms: performance.now() - start }
}

/** A provider that calls arrived before it answers a request. */
export async function startProvider() {
  const provider = { arrived: async () => {} }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }
  const server = createServer(async (request, response) => {
    request.resume()
    await provider.arrived()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', model: 'gpt-4.1-mini', choices, usage }))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  return Object.assign(provider, { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() })
}

/** The median number of object calls that a key's first request makes before the provider gets it. */
export async function coldCalls(server, provider, keys) {
  const counts = []
  for (const key of keys) {
    const before = await objectCalls(server)
    provider.arrived = async () => counts.push((await objectCalls(server)) - before)
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-4.1-mini',
        messages: [{ role: 'user', content: key.slice(-8) }],
        max_tokens: 50,
      }),
    })
    if (!response.ok) throw new Error(`a cold key: ${response.status} ${await response.text()}`)
    await response.text()
    await sleep(SETTLE_MS)
  }
  return median(counts)
}

/** The size of the database, and of SQLite's log. */
export async function databaseBytes(server) {
  const log = join(server.data, 'postern.db-wal')
  return (await metric(server, 'postern_store_size_bytes')) + (existsSync(log) ? statSync(log).size : 0)
}
