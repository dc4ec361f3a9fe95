// The servers of `make soak`: how each is started, and what its memory consists of.
import { bundle, gatewayConfig, plant } from './gateway.mjs'
import { output } from './process.mjs'
import { freePort, seed, startPostern } from './selfhosted/servers.mjs'
import { serve } from './workerd.mjs'

/** `postern serve`, whose metrics have the figures of the Go runtime. */
async function startServe(upstream, cached) {
  const ops = `127.0.0.1:${await freePort()}`
  const server = await seed(await startPostern('soak', upstream, ['--ops-listen', ops]), {
    cacheTtlSeconds: cached ? 3600 : 0,
  })
  const details = async () => {
    const text = await (await fetch(`http://${ops}/metrics`)).text()
    const value = (name) => Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))[1])
    return { heapBytes: value('go_memstats_heap_inuse_bytes'), goroutines: value('go_goroutines') }
  }
  return { server, details }
}

/** The gateway in plain workerd without the Cache API. */
async function startWorkerd(upstream, cached) {
  const planted = JSON.parse(await output('go', ['run', './bench/seed']))[cached ? 'bench' : 'soak']
  const parts = await bundle('bundle', 'wrangler.toml')
  const { child, urls } = await serve(gatewayConfig('soak', parts, upstream.url))
  await plant(urls, planted)
  const { keys } = planted
  return { server: { child, url: urls.gateway, headers: '', keys, key: keys[0] }, details: async () => ({}) }
}

const starts = { serve: startServe, workerd: startWorkerd }

/** Starts the server with the given name. Returns it, and a function that reads details of its memory. */
export function startSoaked(name, upstream, cached) {
  if (!(name in starts)) throw new Error(`SOAK_ON must be one of ${Object.keys(starts).join(', ')}`)
  return starts[name](upstream, cached)
}
