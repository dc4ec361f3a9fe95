// make bench-selfhosted: measures `postern serve` against Go's httputil.ReverseProxy and Portkey's gateway in the
// same run, with the same upstream, clients and disk. A row below its target is marked "short". Portkey's errors are
// only noted in its row. The exit code is nonzero only after a wrong response from another server or a broken run. The
// figures are also written to build/bench/selfhosted.json.
//
// BENCH_SECONDS (default 5) is the length of a round, and BENCH_ROUNDS (default 3) is the number of rounds.
// BENCH_REQUESTS (default 100000) is the number of requests before the second memory reading. A full run uses
// 1000000. QUICK=1 tries every measurement in a short run whose figures mean little.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { why } from './lib/explanations.mjs'
import { head as latencyHead } from './lib/latency.mjs'
import { QUICK } from './lib/options.mjs'
import { OUT, stop } from './lib/process.mjs'
import { described, machine } from './lib/results.mjs'
import {
  compare,
  kept,
  latencies,
  memory,
  startup,
  streaming,
  TARGET_CONNECTIONS,
} from './lib/selfhosted/comparisons.mjs'
import { ROUNDS } from './lib/selfhosted/options.mjs'
import { closed, syncMs } from './lib/selfhosted/rounds.mjs'
import {
  build,
  seed,
  startPortkey,
  startPostern,
  startPostgres,
  startReverseProxy,
  startUpstream,
} from './lib/selfhosted/servers.mjs'
import { ms, table } from './lib/table.mjs'

const CONNECTIONS = QUICK ? [8, TARGET_CONNECTIONS] : [8, TARGET_CONNECTIONS, 512]
// The targets of uncached requests against the reverse proxy, and against Portkey's gateway.
const TARGETS = { 8: { least: 0.4 }, [TARGET_CONNECTIONS]: { least: 0.5, most: 2.2 } }
const PORTKEY_TARGET = { least: 5 }

const started = performance.now()
const say = (text) => console.error(`bench: ${((performance.now() - started) / 1000).toFixed(0)} s: ${text}`)

say('building')
await build()
const upstream = { ...(await startUpstream()), headers: '', key: 'none' }
const proxies = {
  blocks: await startReverseProxy(upstream),
  events: await startReverseProxy(upstream, 'events'),
}
const proxy = proxies.blocks
const portkey = await startPortkey(upstream)
const rows = []
const latencyRows = []

/** Adds the rows of a comparison. Returns Postern's throughput. */
async function add(...comparison) {
  say(comparison[0])
  const result = await compare(...comparison)
  rows.push(...result.rows)
  return result.reached
}

async function sqlite(postern, sync) {
  for (const connections of CONNECTIONS) {
    const name = `uncached, ${connections} connections, against`
    const reached = await add(`${name} the reverse proxy`, [postern], [proxy], { connections }, TARGETS[connections])
    const target = connections > TARGET_CONNECTIONS ? {} : PORTKEY_TARGET
    await add(`${name} Portkey`, [postern], [portkey], { connections }, target)
    const found = await latencies(postern, proxy, upstream, connections, reached, sync)
    latencyRows.push(...found.rows)
    rows.push(...found.comparison)
  }
  const options = { connections: TARGET_CONNECTIONS }
  await add('uncached, 64 keys, against one key', [postern, { keys: postern.keys }], [postern], options)
  await closed(postern, { ...options, mode: 'same', seconds: 1 }) // stores the response
  const same = { mode: 'same' }
  await add('hits in memory, against the reverse proxy', [postern, same], [proxy, same], options, { least: 1 })
  say('streams')
  rows.push(...(await streaming(postern, proxies, portkey)))
}

async function postgres() {
  const database = await startPostgres()
  const shared = await seed(await startPostern('postgres', upstream, [], { POSTERN_DATABASE: database.url }))
  for (const [what, ours] of [
    ['one key', {}],
    ['64 keys', { keys: shared.keys }],
    ['hits', { mode: 'same' }],
  ]) {
    const reached = {}
    for (const connections of CONNECTIONS) {
      const least = { hits: 0.8 }[what] ?? (connections > 8 ? 0.4 : undefined)
      const theirs = { mode: ours.mode ?? 'unique' }
      const name = `PostgreSQL, ${what}, ${connections} connections, against the reverse proxy`
      reached[connections] = await add(name, [shared, ours], [proxy, theirs], { connections }, { least })
    }
    for (const connections of CONNECTIONS.slice(1))
      rows.push(kept(`PostgreSQL, ${what}, ${connections} connections, against 8`, reached[connections], reached[8]))
  }
  await stop(shared.child)
  await stop(database.child)
  return database.version
}

const postern = await seed(await startPostern('full', upstream))
const sync = syncMs(postern.data)
await sqlite(postern, sync)
const version = await postgres()
const options = { connections: TARGET_CONNECTIONS }
const relaxed = await seed(await startPostern('process', upstream, ['--durability', 'process']))
await add('full durability, against process', [postern], [relaxed], options)
await stop(relaxed.child)
const wasm = await seed(await startPostern('wasm', upstream, ['--engine', 'wasm']))
await add('native engine, against wasm', [postern], [wasm], options)
for (const { child } of [wasm, postern, proxies.blocks, proxies.events]) await stop(child)
rows.push(
  await startup(
    'process start to first response, against Portkey',
    () => startPostern('startup', upstream),
    () => startPortkey(upstream),
  ),
)
await stop(portkey.child)
say('memory')
rows.push(...(await memory(upstream)))
await stop(upstream.child)

const results = {
  date: new Date().toISOString().slice(0, 10),
  quick: QUICK,
  machine: { ...(await machine()), postgres: version },
  seconds: Math.round((performance.now() - started) / 1000),
  sections: {
    server: {
      title: '`postern serve`',
      head: ['what', 'Postern', 'baseline', 'ratio', 'target', ''],
      rows,
      notes: [
        `Medians of ${ROUNDS} rounds. Ratios are of pairs in the same round. The median fdatasync of this disk takes ${ms(sync)}.`,
      ],
    },
    serverLatency: {
      title: '`postern serve`: latency at fixed rates',
      head: latencyHead,
      rows: latencyRows,
      notes: [],
    },
  },
}
mkdirSync(OUT, { recursive: true })
writeFileSync(join(OUT, 'selfhosted.json'), `${JSON.stringify(results, null, 2)}\n`)

console.log(`\n${described(results.machine)}`)
for (const section of Object.values(results.sections)) {
  console.log(`\n${section.title}\n\n${table(section.head, section.rows)}\n`)
  for (const line of [...section.notes, ...why(section)]) console.log(line)
}
