// The core's steps for an uncached request of a busy key, counted in workerd with the Worker that is deployed.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayConfig, plant } from './gateway.mjs'
import { Sender } from './hops.mjs'
import { BENCH, stop } from './process.mjs'
import { row } from './table.mjs'
import { modules, serve } from './workerd.mjs'

const WARM = 10
const REQUESTS = 50
const AFTER_MS = 1000 // a request's last steps follow its response
const MOST = 6

export async function stepCount(parts, upstreamURL, seed) {
  const counting = modules(join(BENCH, 'workers'), 'stepcount.js', 'counting.js')
  const gateway = await serve(gatewayConfig('stepcount', [...counting, ...parts], upstreamURL))
  await plant(gateway.urls, seed.bench)
  const to = new Sender(gateway.urls)
  const send = async (name, count) => {
    for (let i = 0; i < count; i++) {
      const response = await to.send(seed.bench, `steps ${name} ${i}`)
      if (response !== '200 miss') throw new Error(`counting steps: ${response}`)
    }
    await sleep(AFTER_MS)
    return (await (await fetch(`${gateway.urls.gateway}/bench/steps`)).json()).steps
  }
  const before = await send('warm', WARM)
  const steps = ((await send('counted', REQUESTS)) - before) / REQUESTS
  await stop(gateway.child)
  return [row('steps of the core per uncached request, plan with leases', steps.toFixed(2), '', steps, { most: MOST })]
}
