// make bench-growth: fills a deployment with 5,000 projects, 100,000 keys, 1,000,000 recorded requests and 1,000,000 audit
// entries, on SQLite and on PostgreSQL, and times every list of the admin API, the overview, the start, and the first
// request of a key. A row beyond its target is marked "short". bench/growth writes the deployment, and `postern import`
// loads it.
//
// GROWTH (default 1) scales the deployment: GROWTH=0.01 tries everything in a minute. GROWTH_STORES (default "sqlite
// postgres") names the databases. BENCH_SAMPLES (default 21) is the number of times that each list is read. GROWTH_URL and
// POSTERN_ADMIN_TOKEN name a new, empty deployment on Workers, such as that of `make dev`, to measure in their place.
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cursors } from './lib/growth/cursors.mjs'
import { requests } from './lib/growth/lists.mjs'
import {
  coldCalls,
  databaseBytes,
  firstResponse,
  importFile,
  settled,
  startProvider,
  timed,
} from './lib/growth/measure.mjs'
import { memoryBytes, OUT, output, stop } from './lib/process.mjs'
import { build, freePort, startPostern, startPostgres } from './lib/selfhosted/servers.mjs'
import { mib, ms, row, table } from './lib/table.mjs'

const SCALE = process.env.GROWTH ?? '1'
const STORES = (process.env.GROWTH_STORES ?? 'sqlite postgres').split(' ')
const { GROWTH_URL: WORKERS, POSTERN_ADMIN_TOKEN: TOKEN } = process.env
const SAMPLES = Number(process.env.BENCH_SAMPLES ?? 21)
const TARGET_MS = 150
const TARGET_START_MS = 2000
const TARGET_CALLS = 3
const IDLE_MS = 6_000 // after five idle seconds, the server returns free memory

const rows = []

/** Times all lists of a running server. */
async function lists(store, server, deployment) {
  const at = await cursors(server, deployment)
  for (const [name, path] of requests(deployment, at)) {
    const { p50, p95, bytes } = await timed(server, path, SAMPLES)
    rows.push(
      row(`${store}: ${name}`, ms(p95), ms(p50), p95, { most: TARGET_MS, note: `${(bytes / 1024).toFixed(1)} KiB` }),
    )
  }
}

async function measure(store, provider, file, deployment, variables) {
  const ops = `127.0.0.1:${await freePort()}`
  const begin = async (keep) => ({
    ...(await startPostern(`growth-${store}`, provider, ['--ops-listen', ops], variables, keep)),
    ops,
  })
  let server = await begin(false)
  const imported = await importFile(server, file)
  const worked = await settled(server)
  await stop(server.child)
  const starts = []
  for (let i = 0; i < 3; i++) {
    const start = await firstResponse(() => begin(true))
    server = start.server
    starts.push(start.ms)
    if (i < 2) await stop(server.child)
  }
  rows.push(
    row(`${store}: start to the first list`, ms(Math.max(...starts)), '', Math.max(...starts), {
      most: TARGET_START_MS,
    }),
  )
  await sleep(IDLE_MS)
  rows.push(row(`${store}: memory after the start`, mib(memoryBytes(server.child, 'VmRSS')), '', ''))
  await lists(store, server, deployment)
  rows.push(row(`${store}: most memory`, mib(memoryBytes(server.child, 'VmHWM')), '', ''))
  await sleep(IDLE_MS)
  rows.push(row(`${store}: memory after the lists`, mib(memoryBytes(server.child, 'VmRSS')), '', ''))
  const calls = await coldCalls(server, provider, deployment.cold)
  rows.push(
    row(`${store}: object calls before the provider gets a key's first request`, '', '', calls, { most: TARGET_CALLS }),
  )
  rows.push(row(`${store}: database`, mib(await databaseBytes(server)), '', ''))
  rows.push(row(`${store}: import; work after it`, ms(imported), ms(worked), ''))
  await stop(server.child)
}

/**
 * The import and the lists of a deployment on Workers, whose start, memory and calls cannot be seen from here. Nor can its
 * work after the import, so it gets as much time for that.
 */
async function measureWorkers(file, deployment) {
  const server = { url: WORKERS, token: TOKEN }
  const imported = await importFile(server, file)
  rows.push(row('Workers: import', ms(imported), '', ''))
  await sleep(imported)
  await lists('Workers', server, deployment)
}

await build()
await output('go', ['build', '-o', join(OUT, 'growth'), './bench/growth'])
const file = join(OUT, 'growth.ndjson')
const deployment = JSON.parse(await output(join(OUT, 'growth'), ['-scale', SCALE, '-out', file]))
const provider = await startProvider()
if (WORKERS) await measureWorkers(file, deployment)
for (const store of WORKERS ? [] : STORES) {
  if (store === 'sqlite') await measure(store, provider, file, deployment, {})
  else {
    const database = await startPostgres()
    await measure(store, provider, file, deployment, { POSTERN_DATABASE: database.url })
    await stop(database.child)
  }
}
provider.close()
const { projects, keys, requests: recorded, auditEntries, violations } = deployment
console.log(
  `\n${projects} projects, ${keys} keys, ${recorded} requests, ${auditEntries} audit entries, ${violations} violations; a file of ${mib(statSync(file).size)}; p95 and p50 of ${SAMPLES} reads\n`,
)
console.log(table(['what', 'p95', 'p50', 'value', 'target', ''], rows))
rmSync(file)
