// make bench-selfhosted: measures `postern serve` against Go's httputil.ReverseProxy and Portkey's gateway in the
// same run, with the same upstream, clients and disk. A row below its target is marked "short". Portkey's errors are
// only noted in its row. The exit code is nonzero only after a wrong response from another server or a broken run.
//
// BENCH_SECONDS (default 5) is the length of a round, and BENCH_ROUNDS (default 3) is the number of rounds.
// BENCH_REQUESTS (default 100000) is the number of requests before the second memory reading. A full run uses
// 1000000.
import { errorNote, interleave, median, ratio } from './lib/load.mjs'
import { memoryBytes, stop } from './lib/process.mjs'
import { closed, open, streams, syncMs } from './lib/selfhosted/rounds.mjs'
import {
  build,
  seed,
  startPortkey,
  startPostern,
  startPostgres,
  startReverseProxy,
  startUpstream,
} from './lib/selfhosted/servers.mjs'
import { mib, ms, perSecond, row, table } from './lib/table.mjs'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 100_000)
const WARM_SECONDS = 3
const FEW_REQUESTS = 10_000
const TARGET_CONNECTIONS = 64
const STREAMS = 64

const rows = []
const rate = (results) => median(results.map((r) => r.perSecond))
const cpu = (results) => `${median(results.map((r) => r.cpuMs)).toFixed(3)} ms`

/** Runs interleaved rounds after a warm-up round. Returns the row that compares the first contender with the second. */
async function compare(name, ours, theirs, options, target, measure = rate, unit = perSecond) {
  for (const [server, contender] of [ours, theirs])
    await closed(server, { ...options, ...contender, seconds: WARM_SECONDS })
  const [a, b] = await interleave(
    ROUNDS,
    [ours, theirs].map(
      ([server, contender]) =>
        () =>
          closed(server, { seconds: SECONDS, ...options, ...contender }),
    ),
  )
  const note = [`CPU per request ${cpu(a)} : ${cpu(b)}`, errorNote('baseline', b)].filter(Boolean).join('; ')
  rows.push(
    row(
      name,
      unit(measure(a)),
      unit(measure(b)),
      ratio(a, b, (r) => r.perSecond),
      { least: target, note },
    ),
  )
  return rate(a)
}

/** The latency that a server adds to the upstream's, at half of a given throughput. */
async function latency(server, upstream, connections, throughput, sync) {
  const options = { connections, rate: throughput / 2, seconds: SECONDS }
  const [a, b] = await interleave(ROUNDS, [() => open(server, options), () => open(upstream, options)])
  for (const [name, most] of [
    ['p50ms', 1.5 * sync + 0.3],
    ['p99ms', 5],
  ]) {
    const of = (results) => median(results.map((r) => r[name]))
    const added = median(a.map((r, i) => r[name] - b[i][name]))
    const target = connections === TARGET_CONNECTIONS ? { most: Number(most.toFixed(2)) } : {}
    rows.push(
      row(
        `added latency ${name.slice(0, 3)} in ms at half load, ${connections} connections`,
        ms(of(a)),
        ms(of(b)),
        added,
        target,
      ),
    )
  }
}

async function streaming(postern, proxy, portkey) {
  const options = { connections: 8, count: STREAMS }
  const all = [postern, proxy, portkey]
  for (const server of all) await streams(server, { ...options, count: 8 })
  const [ours, ...theirs] = await interleave(
    ROUNDS,
    all.map((server) => () => streams(server, options)),
  )
  for (const [i, name] of ['the reverse proxy', 'Portkey'].entries()) {
    const of = (results, field, unit) => {
      const value = median(results.map((r) => r[field]))
      return value > 0 ? unit(value) : 'none' // a peer, if all its streams failed
    }
    const value = (field) => ratio(ours, theirs[i], (r) => r[field])
    const note = { note: errorNote('baseline', theirs[i]) }
    rows.push(
      row(
        `stream chunks per second of CPU, against ${name}`,
        of(ours, 'perCore', perSecond),
        of(theirs[i], 'perCore', perSecond),
        value('perCore'),
        note,
      ),
    )
    rows.push(
      row(
        `time to a stream's first byte, against ${name}`,
        of(ours, 'firstP50ms', ms),
        of(theirs[i], 'firstP50ms', ms),
        value('firstP50ms'),
        note,
      ),
    )
  }
}

/** The time from the start of a process to its first response. */
async function startup(name, begin, theirs) {
  const measured = async (start) => {
    const before = performance.now()
    const server = await start()
    await (await fetch(`${server.url}/api/health`)).text()
    const took = performance.now() - before
    await stop(server.child)
    return took
  }
  const [a, b] = await interleave(ROUNDS, [() => measured(begin), () => measured(theirs)])
  rows.push(
    row(
      name,
      ms(median(a)),
      ms(median(b)),
      ratio(a, b, (took) => took),
    ),
  )
}

async function memory(upstream) {
  const server = await seed(await startPostern('memory', upstream))
  const send = async (requests) => {
    // Requests that a round abandons stay in progress for a while and count toward their key's limit on concurrent
    // requests.
    const options = { connections: 512, seconds: SECONDS, keys: server.keys }
    while (requests > 0) requests -= (await closed(server, options)).requests
  }
  await send(FEW_REQUESTS)
  const few = memoryBytes(server.child, 'VmRSS')
  await send(REQUESTS)
  const many = memoryBytes(server.child, 'VmRSS')
  rows.push(
    row(
      `memory after ${REQUESTS.toLocaleString('en')} requests against ${FEW_REQUESTS.toLocaleString('en')}`,
      mib(many),
      mib(few),
      many / few,
      { most: 1.1 },
    ),
  )
  const peak = memoryBytes(server.child, 'VmHWM')
  rows.push(row('most memory in MB at 512 connections', mib(peak), '', peak / 1e6, { most: 120 }))
  await stop(server.child)
}

await build()
const upstream = { ...(await startUpstream()), headers: '', key: 'none' }
const postern = await seed(await startPostern('full', upstream))
const proxy = await startReverseProxy(upstream)
const portkey = await startPortkey(upstream)
const sync = syncMs(postern.data)

for (const connections of [8, TARGET_CONNECTIONS, 512]) {
  const targets = connections === TARGET_CONNECTIONS ? [0.4, 3.5] : []
  const name = `uncached, ${connections} connections, against`
  const reached = await compare(`${name} the reverse proxy`, [postern], [proxy], { connections }, targets[0])
  await compare(`${name} Portkey`, [postern], [portkey], { connections }, targets[1])
  await latency(postern, upstream, connections, reached, sync)
}
const options = { connections: TARGET_CONNECTIONS }
await compare('uncached, 64 keys, against one key', [postern, { keys: postern.keys }], [postern], options)
await closed(postern, { ...options, mode: 'same', seconds: 1 }) // stores the response
await compare(
  'hits in memory, against the reverse proxy',
  [postern, { mode: 'same' }],
  [proxy, { mode: 'same' }],
  options,
  0.8,
)
await streaming(postern, proxy, portkey)

const database = await startPostgres()
const shared = await seed(await startPostern('postgres', upstream, [], { POSTERN_DATABASE: database.url }))
for (const [what, ours] of [
  ['one key', {}],
  ['64 keys', { keys: shared.keys }],
  ['hits', { mode: 'same' }],
])
  for (const connections of [8, TARGET_CONNECTIONS, 512]) {
    const target = { hits: 0.8 }[what] ?? (connections > 8 ? 0.4 : undefined)
    const theirs = { mode: ours.mode ?? 'unique' }
    const name = `PostgreSQL, ${what}, ${connections} connections, against the reverse proxy`
    await compare(name, [shared, ours], [proxy, theirs], { connections }, target)
  }
await stop(shared.child)
await stop(database.child)

const relaxed = await seed(await startPostern('process', upstream, ['--durability', 'process']))
await compare('full durability, against process', [postern], [relaxed], options)
await stop(relaxed.child)
const wasm = await seed(await startPostern('wasm', upstream, ['--engine', 'wasm']))
await compare('native engine, against wasm', [postern], [wasm], options)
for (const { child } of [wasm, postern, proxy]) await stop(child)
await startup(
  'process start to first response, against Portkey',
  () => startPostern('startup', upstream),
  () => startPortkey(upstream),
)
await stop(portkey.child)
await memory(upstream)
await stop(upstream.child)

console.log(
  `\nmedians of ${ROUNDS} rounds; ratios are of pairs in the same round; fdatasync p50 of this disk: ${ms(sync)}\n`,
)
console.log(table(['what', 'Postern', 'baseline', 'ratio', 'target', ''], rows))
