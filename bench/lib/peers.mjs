// Other gateways in front of the same upstream, with the same body. PEERS=1 adds them. Portkey's gateway runs under
// Node, as its package ships. With PORTKEY_SRC, it also runs in the same workerd as Postern, because the package
// lacks the source of its Worker.
import { join } from 'node:path'
import { compatibilityOf } from '../../worker/gateway/compatibility.mjs'
import { bundle, gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, errorNote, interleave, load, median, ratio } from './load.mjs'
import { PORTKEY_SRC, ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { BENCH, stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { portkeyHeaders, startPortkey } from './selfhosted/servers.mjs'
import { judged, ms, perSecond } from './table.mjs'
import { configure, modules, serve, worker } from './workerd.mjs'

const PATH = '/v1/chat/completions'
const LOGS = ['all', 'errors', 'off']

/** The work of each gateway in addition to forwarding: authentication, limits, budget, cache and Governor. */
export const work = ['authentication', 'limits', 'budget', 'cache', 'Governor']

const did = (governor) => ['yes', 'yes', 'yes', 'yes', governor]
const NONE = ['no', 'no', 'no', 'no', 'no']

/** Postern's gateway in a process of its own, as two contenders: with the Governor off and on. */
async function postern(name, title, parts, upstreamURL, seed, { targets = [], ...options }) {
  const { urls, child } = await serve(gatewayConfig(name, parts, upstreamURL, options))
  await plant(urls, seed.bench, seed.governed)
  const common = { name: `Postern, plan with leases${title}`, runtime: 'workerd', url: urls.gateway, child }
  return [
    { ...common, did: did('no'), key: seed.bench.keys[0], least: targets[0] },
    { ...common, did: did('yes'), key: seed.governed.keys[0], least: targets[1] },
  ]
}

async function posterns(parts, upstreamURL, seed, colo) {
  const start = (name, title, options) => postern(name, title, parts, upstreamURL, seed, options)
  const all = await start('peers', '', { colos: [colo.url] })
  for (const log of LOGS) {
    const title = log === 'all' ? ', no Cache API' : `, no Cache API, POSTERN_LOG=${log}`
    all.push(...(await start(`peers-log-${log}`, title, { variables: { POSTERN_LOG: log }, targets: [1.1, 1] })))
  }
  return all
}

async function proxy(upstreamURL) {
  const texts = { UPSTREAM: `${upstreamURL}${PATH}`, UPSTREAM_KEY: 'sk-bench' }
  const parts = modules(join(BENCH, 'workers'), 'proxy.js')
  const { urls, child } = await serve(configure('peers-proxy', [worker('proxy', parts, { texts })], ['proxy']))
  return { name: 'bare proxy', runtime: 'workerd', did: NONE, url: urls.proxy, child, key: 'none' }
}

const PORTKEY = "Portkey's gateway"

/** Portkey's Worker, bundled as a deployment would. Its variables are those of its wrangler.toml for production. */
async function portkeyWorker(upstreamURL) {
  const file = join(PORTKEY_SRC, 'wrangler.toml')
  const parts = await bundle('portkey', file)
  const described = worker('portkey', parts, {
    texts: { ENVIRONMENT: 'production' },
    bindings: [{ name: 'CUSTOM_HEADERS_TO_IGNORE', json: '[]' }],
    compatibility: compatibilityOf(file),
  })
  const { urls, child } = await serve(configure('peers-portkey', [described], ['portkey']))
  const peer = { key: 'none', headers: portkeyHeaders(upstreamURL), peer: true }
  return { name: PORTKEY, runtime: 'workerd', did: NONE, url: urls.portkey, child, ...peer }
}

async function start(parts, upstreamURL, seed, colo) {
  const contenders = [await proxy(upstreamURL), ...(await posterns(parts, upstreamURL, seed, colo))]
  if (PORTKEY_SRC !== undefined) contenders.push(await portkeyWorker(upstreamURL))
  const portkey = await startPortkey({ url: upstreamURL })
  return [...contenders, { name: PORTKEY, runtime: 'Node', did: NONE, ...portkey }]
}

const runOf =
  (one, i) =>
  (round, seconds = SECONDS) =>
    load(one.url, one.child, {
      key: one.key,
      mode: 'unique',
      round: `peer ${i} ${round}`,
      seconds,
      connections: CONNECTIONS,
      more: [PATH, one.headers ?? ''],
      peer: one.peer,
    })

/** Returns the rows of the table and its notes. */
export async function peers(parts, upstreamURL, seed) {
  const colo = await startColo()
  const contenders = await start(parts, upstreamURL, seed, colo)
  const runs = contenders.map(runOf)
  for (const run of runs) await run('warm', WARM_SECONDS)
  const results = await interleave(
    ROUNDS,
    runs.map((run) => (round) => run(round)),
  )
  for (const child of new Set([...contenders, colo].map((one) => one.child))) await stop(child)
  const notes = contenders.map(({ name, runtime }, i) => errorNote(`${name} on ${runtime}`, results[i]))
  return { rows: rowsOf(contenders, results), notes: notes.filter(Boolean) }
}

function rowsOf(contenders, results) {
  const theirs = results[contenders.findIndex(({ name, runtime }) => name === PORTKEY && runtime === 'workerd')]
  const [bare] = results
  return contenders.map(({ name, runtime, did, least }, i) => {
    const ours = results[i]
    const against = theirs && ours !== theirs ? ratio(ours, theirs, (r) => r.perSecond) : '–'
    return [
      name,
      runtime,
      ...did,
      perSecond(median(ours.map((r) => r.perSecond))),
      ms(median(ours.map((r) => r.cpuMs))),
      ratio(ours, bare, (r) => r.cpuMs).toFixed(2),
      ...judged(against, { least: theirs && least }),
    ]
  })
}
