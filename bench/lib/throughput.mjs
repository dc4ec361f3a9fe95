// Requests per second, CPU per request and latency of the gateway against minimal Workers in its place.

import { setTimeout as sleep } from 'node:timers/promises'
import { baselines } from './baselines.mjs'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load, median, ratio } from './load.mjs'
import { ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { ms, perSecond, row } from './table.mjs'
import { Tally } from './tally.mjs'
import { serve } from './workerd.mjs'

// Requests per second and key of the default plan, which admits ten. A round that is faster than expected doubles the keys.
const KEY_RATE = 7
const WINDOW_MS = 1100

/** One contender: a function that runs a round. name is part of its prompts. */
class Contender {
  constructor(tally, side, socket, name, { project, mode = 'unique', connections = CONNECTIONS } = {}) {
    Object.assign(this, { tally, side, socket, name, project, mode, connections })
    this.keys = project?.keys ?? ['none']
  }

  async run(round, seconds = SECONDS) {
    const { side, socket, mode, connections, keys } = this
    const options = { key: keys.join(','), mode, round: `${this.name} ${round}`, seconds, connections }
    try {
      return await this.tally.check(this, () => load(side.urls[socket], side.child, options))
    } catch (error) {
      if (!this.more()) throw error
      await sleep(WINDOW_MS)
      return this.run(`${round} again`, seconds)
    }
  }

  /** Keeps as many keys as a rate needs on the default plan. */
  spread(perSecond) {
    if (this.keys.length > 1) this.keys = this.project.keys.slice(0, Math.ceil(perSecond / KEY_RATE))
  }

  /** Doubles the keys; false if there are no more. */
  more() {
    const before = this.keys.length
    this.keys = this.project?.keys.slice(0, 2 * before) ?? this.keys
    return this.keys.length > before
  }
}

/** Runs a warm-up round, then the interleaved rounds. */
async function measure(contenders) {
  let fastest = 0
  for (const contender of contenders) {
    const { perSecond } = await contender.run('warm', WARM_SECONDS)
    if (contender.socket === 'proxy-objects') fastest = perSecond // which a gateway with as many object calls is not
    contender.spread(Math.max(perSecond, fastest))
  }
  return interleave(
    ROUNDS,
    contenders.map((contender) => (round) => contender.run(round)),
  )
}

/** The gateway, its baselines, and the contenders made of them. */
export async function throughput(parts, upstreamURL, seed) {
  const colo = await startColo()
  const gateway = await serve(gatewayConfig('gateway', parts, upstreamURL, { colos: [colo.url] }))
  await plant(gateway.urls, seed.bench, seed.governed, seed.default, seed['default-governed'])
  const tally = new Tally(upstreamURL, gateway.urls.gateway)
  const sample = await tally.prime(seed.bench)
  const baseline = await serve(baselines(upstreamURL, sample))
  const postern = (name, project, options) => new Contender(tally, gateway, 'gateway', name, { project, ...options })
  const minimal = (socket, options) => new Contender(tally, baseline, socket, socket, options)
  const rows = [...(await uncached(postern, minimal, seed))]
  for (const project of [seed.bench, seed.governed]) await tally.prime(project)
  rows.push(...(await cached(postern, minimal, seed)), ...(await alone(postern, minimal, seed)))
  for (const project of [seed.bench, seed.governed, seed.default, seed['default-governed']])
    await tally.checkUsage(project)
  for (const { child } of [gateway, baseline, colo]) await stop(child)
  return rows
}

const governors = [
  ['Governor off', 'bench', 'default'],
  ['Governor on', 'governed', 'default-governed'],
]

async function uncached(postern, minimal, seed) {
  const [proxy, objects, ...ours] = await measure([
    minimal('proxy'),
    minimal('proxy-objects'),
    ...governors.flatMap(([name, lending, exact]) => [
      postern(`${name}, lending`, seed[lending]),
      postern(`${name}, default`, seed[exact]),
    ]),
  ])
  return governors.flatMap(([name], i) => {
    const [lending, exact] = ours.slice(2 * i)
    return [
      rate(`uncached, lending plan, ${name}, against a bare proxy`, lending, proxy, 0.38),
      cpu(`uncached, lending plan, ${name}, against a bare proxy`, lending, proxy, 2.6),
      rate(`uncached, default plan, ${name}, against a proxy with two object calls`, exact, objects, 0.55),
      cpu(`uncached, default plan, ${name}, against a proxy with two object calls`, exact, objects),
    ]
  })
}

async function cached(postern, minimal, seed) {
  const mode = 'same'
  const [constant, answer, ...ours] = await measure([
    minimal('constant', { mode }),
    minimal('answer', { mode }),
    ...governors.map(([name, lending]) => postern(`${name}, hit`, seed[lending], { mode })),
  ])
  return governors.flatMap(([name], i) => [
    rate(`hit in memory, lending plan, ${name}, against one object call`, ours[i], constant, 1),
    rate(`hit in memory, lending plan, ${name}, against reading, logging and a constant`, ours[i], answer, 0.5),
    cpu(`hit in memory, lending plan, ${name}, against reading, logging and a constant`, ours[i], answer),
  ])
}

async function alone(postern, minimal, seed) {
  const connections = 1
  const [proxy, miss, hit] = await measure([
    minimal('proxy', { connections }),
    postern('alone', seed.bench, { connections }),
    postern('alone, hit', seed.bench, { connections, mode: 'same' }),
  ])
  return [
    latency('latency of one connection, uncached, lending plan, against a bare proxy', miss, proxy),
    latency('latency of one connection, hit in memory, lending plan, against a bare proxy', hit, proxy),
  ]
}

export function rate(name, ours, theirs, least) {
  const of = (results) => perSecond(median(results.map((r) => r.perSecond)))
  const value = ratio(ours, theirs, (r) => r.perSecond)
  return row(`${name}: requests`, of(ours), of(theirs), value, { least })
}

export function cpu(name, ours, theirs, most) {
  const of = (results) => ms(median(results.map((r) => r.cpuMs)))
  const value = ratio(ours, theirs, (r) => r.cpuMs)
  return row(`${name}: CPU per request`, of(ours), of(theirs), value, { most })
}

function latency(name, ours, theirs) {
  const at = (results, percentile) => median(results.map((r) => r[percentile]))
  const value = ratio(ours, theirs, (r) => r.p50ms)
  const note = `p99: ${ms(at(ours, 'p99ms'))} : ${ms(at(theirs, 'p99ms'))}`
  return row(name, ms(at(ours, 'p50ms')), ms(at(theirs, 'p50ms')), value, { note })
}
