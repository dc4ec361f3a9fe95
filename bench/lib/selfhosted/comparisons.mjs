// The rows of `make bench-selfhosted`: Postern against another server in interleaved rounds.
import { added, openLoads } from '../latency.mjs'
import { errorNote, interleave, median, ratio } from '../load.mjs'
import { memoryBytes, stop } from '../process.mjs'
import { mib, ms, perSecond, row } from '../table.mjs'
import { REQUESTS, ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { closed, open, streams } from './rounds.mjs'
import { seed, startPostern } from './servers.mjs'

export const TARGET_CONNECTIONS = 64
const FEW_REQUESTS = 10_000
const MOST_CONNECTIONS = 512
const STREAMS = 64

const cpuMs = (n) => `${n.toFixed(3)} ms`
const us = (n) => `${n.toFixed(2)} µs`
const of = (results, field) => median(results.map((r) => r[field]))

/**
 * Runs interleaved rounds after a warm-up round. ours and theirs are a server and its options. Returns rows for the
 * throughput and the CPU time, and Postern's throughput. least and most are their targets.
 */
export async function compare(name, ours, theirs, options, { least, most } = {}) {
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
  const note = errorNote('baseline', b)
  const line = (what, field, unit, bounds) => {
    const value = ratio(a, b, (r) => r[field])
    return row(`${name}: ${what}`, unit(of(a, field)), unit(of(b, field)), value, { ...bounds, note })
  }
  return {
    reached: of(a, 'perSecond'),
    rows: [line('requests', 'perSecond', perSecond, { least }), line('CPU per request', 'cpuMs', cpuMs, { most })],
  }
}

/** Compares throughputs that were measured one after the other. */
export const kept = (name, more, fewer) =>
  row(name, perSecond(more), perSecond(fewer), Number((more / fewer).toFixed(2)), { least: 1, note: 'not of pairs' })

/**
 * The latencies at fixed rates of Postern, of the upstream alone and of the reverse proxy. Returns the rows of their table,
 * and rows for what Postern adds to the upstream at half load.
 */
export async function latencies(postern, proxy, upstream, connections, throughput, sync) {
  const contend = (name, server) => ({
    name: `${name}, ${connections} connections`,
    open: (rate) => open(server, { connections, rate, seconds: SECONDS }),
  })
  const contenders = [contend('Postern', postern), contend('reverse proxy', proxy), contend('no gateway', upstream)]
  const { rows, results } = await openLoads(contenders, throughput, ROUNDS)
  const [ours, , theirs] = results[1]
  const comparison = [
    ['p50ms', 1.5 * sync + 0.3],
    ['p99ms', 5],
  ].map(([name, most]) => {
    const target = connections === TARGET_CONNECTIONS ? { most: Number(most.toFixed(2)) } : {}
    const title = `added latency ${name.slice(0, 3)} in ms at half load, ${connections} connections`
    return row(title, ms(of(ours, name)), ms(of(theirs, name)), added(ours, theirs, name), target)
  })
  return { rows, comparison }
}

/**
 * Streams, as fast as possible and with a chunk per millisecond: the CPU time of an event against a proxy that reads each
 * event, one that copies blocks, and Portkey's gateway, and the time to the first byte against the one that copies blocks.
 */
export async function streaming(postern, proxies, portkey) {
  const all = [postern, proxies.events, proxies.blocks, portkey]
  const names = ['a proxy that reads each event', 'the reverse proxy, which copies blocks', "Portkey's gateway"]
  const rows = []
  for (const paced of [false, true]) {
    const options = { connections: 8, count: STREAMS, paced }
    for (const server of all) await streams(server, { ...options, count: 8 })
    const [ours, ...theirs] = await interleave(
      ROUNDS,
      all.map((server) => () => streams(server, options)),
    )
    const pace = paced ? 'streams with an event per millisecond' : 'streams in bursts'
    rows.push(
      ...names.map((name, i) => eventRow(`${pace}, against ${name}`, ours, theirs[i], i === 0 ? 2.5 : undefined)),
    )
    rows.push(firstByteRow(pace, ours, theirs[1], paced ? 2 : undefined))
  }
  return rows
}

function eventRow(name, ours, theirs, most) {
  // A peer has no value if all its streams failed.
  const cost = (results) => (of(results, 'perCore') > 0 ? us(1e6 / of(results, 'perCore')) : 'none')
  const value = ratio(theirs, ours, (r) => r.perCore)
  return row(`${name}: CPU per event`, cost(ours), cost(theirs), value, { most, note: errorNote('baseline', theirs) })
}

// In bursts, both processors are busy all the time, so the first byte waits for the streams before it.
function firstByteRow(pace, ours, theirs, most) {
  const name = `${pace}: time to the first byte, in ms more than the reverse proxy's`
  const times = [ours, theirs].map((results) => ms(of(results, 'firstP50ms')))
  return row(name, ...times, added(ours, theirs, 'firstP50ms'), { most })
}

/** The time from the start of a process to its first response. */
export async function startup(name, begin, theirs) {
  const measured = async (start) => {
    const before = performance.now()
    const server = await start()
    await (await fetch(`${server.url}/api/health`)).text()
    const took = performance.now() - before
    await stop(server.child)
    return took
  }
  const [a, b] = await interleave(ROUNDS, [() => measured(begin), () => measured(theirs)])
  return row(
    name,
    ms(median(a)),
    ms(median(b)),
    ratio(a, b, (took) => took),
  )
}

export async function memory(upstream) {
  const server = await seed(await startPostern('memory', upstream))
  const send = async (requests) => {
    // Requests that a round abandons stay in progress for a while and count toward their key's limit on concurrent
    // requests.
    const options = { connections: MOST_CONNECTIONS, seconds: Math.max(SECONDS, WARM_SECONDS), keys: server.keys }
    while (requests > 0) requests -= (await closed(server, options)).requests
  }
  await send(FEW_REQUESTS)
  const few = memoryBytes(server.child, 'VmRSS')
  await send(REQUESTS)
  const many = memoryBytes(server.child, 'VmRSS')
  const peak = memoryBytes(server.child, 'VmHWM')
  await stop(server.child)
  const count = (n) => n.toLocaleString('en')
  const name = `memory after ${count(REQUESTS)} requests against ${count(FEW_REQUESTS)}`
  return [
    row(name, mib(many), mib(few), many / few, { most: 1.1 }),
    row(`most memory in MB at ${MOST_CONNECTIONS} connections`, mib(peak), '', peak / 1e6, { most: 120 }),
  ]
}
