// Other gateways in front of the same upstream, with the same body. PEERS=1 adds them. Portkey's gateway runs under
// Node, as it ships, while Postern runs in workerd. These are two different runtimes.
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, load, median } from './load.mjs'
import { ROUNDS, SECONDS, WARM_SECONDS } from './options.mjs'
import { stop } from './process.mjs'
import { startColo } from './programs.mjs'
import { startPortkey } from './selfhosted/servers.mjs'
import { ms, perSecond } from './table.mjs'
import { serve } from './workerd.mjs'

const PATH = '/v1/chat/completions'
const yes = ['yes', 'yes', 'yes', 'yes']

/** The work of each gateway in addition to forwarding: authentication, limits, budget, cache and Governor. */
export const work = ['authentication', 'limits', 'budget', 'cache', 'Governor']

export async function peers(parts, upstreamURL, seed) {
  const colo = await startColo()
  const postern = await serve(gatewayConfig('peers', parts, upstreamURL, { colos: [colo.url] }))
  await plant(postern.urls, seed.bench, seed.governed)
  const portkey = await startPortkey({ url: upstreamURL })
  const url = postern.urls.gateway
  const contenders = [
    {
      name: 'Postern, plan with leases',
      runtime: 'workerd',
      did: [...yes, 'no'],
      url,
      child: postern.child,
      key: seed.bench.keys[0],
    },
    {
      name: 'Postern, plan with leases',
      runtime: 'workerd',
      did: [...yes, 'yes'],
      url,
      child: postern.child,
      key: seed.governed.keys[0],
    },
    { name: "Portkey's gateway", runtime: 'Node', did: ['no', 'no', 'no', 'no', 'no'], ...portkey },
  ]
  const run =
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
  const runs = contenders.map(run)
  for (const start of runs) await start('warm', WARM_SECONDS)
  const results = await interleave(
    ROUNDS,
    runs.map((start) => (round) => start(round)),
  )
  for (const { child } of [postern, portkey, colo]) await stop(child)
  return contenders.map(({ name, runtime, did }, i) => [
    name,
    runtime,
    ...did,
    perSecond(median(results[i].map((r) => r.perSecond))),
    ms(median(results[i].map((r) => r.cpuMs))),
  ])
}
