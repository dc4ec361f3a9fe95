// The shipped gateway in workerd, with a KV namespace and a seeded key.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH, OUT, output, ROOT } from './process.mjs'
import { configure, disk, external, modules, worker } from './workerd.mjs'

const classes = ['KeyMeter', 'Ledger', 'Directory']
const bindingNames = { KeyMeter: 'KEY_METER', Ledger: 'LEDGER', Directory: 'DIRECTORY' }

/** Bundles a Worker as a deployment would and returns the bundle's modules. */
export async function bundle(name, config) {
  const folder = join(OUT, name)
  rmSync(folder, { recursive: true, force: true })
  process.env.WRANGLER_SEND_METRICS = 'false'
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false'
  await output(join(ROOT, 'node_modules/.bin/wrangler'), ['deploy', '--dry-run', '--outdir', folder, '-c', config])
  const files = readdirSync(folder)
  const main = files.find((file) => file.endsWith('.js'))
  const text = readFileSync(join(folder, main), 'utf8')
  return modules(folder, main, ...files.filter((file) => file !== main && text.includes(`./${file}`)))
}

// The objects run in the Worker of the given service. If no service is given, they run in the service that gets the
// bindings.
function bindings(serviceName) {
  const objects = classes.map((className) => ({
    name: bindingNames[className],
    durableObjectNamespace: serviceName === undefined ? { className } : { className, serviceName },
  }))
  return [...objects, { name: 'KV', kvNamespace: 'kv' }]
}

/**
 * workerd's configuration of the gateway, with sockets "gateway" and "seed". colos are the URLs of data center
 * caches. The first one is the gateway's. Each additional one adds another gateway ("gateway1", "gateway2" and so on)
 * with its own memory and the same objects and KV. inMemory keeps objects off the disk. variables are the gateway's.
 */
export function gatewayConfig(name, parts, upstreamURL, { colos = [], inMemory = false, variables = {} } = {}) {
  const storage = disk(`${name}-objects`, { inMemory })
  const texts = { OPENAI_BASE_URL: `${upstreamURL}/v1`, OPENAI_API_KEY: 'sk-bench', ...variables }
  const workers = join(BENCH, 'workers')
  const colo = (i) => (colos[i] === undefined ? undefined : `colo${i}`)
  const others = colos.slice(1).map((_, i) => `gateway${i + 1}`)
  const services = [
    storage,
    ...colos.map((url, i) => external(`colo${i}`, url)),
    worker('gateway', parts, { texts, bindings: bindings(), classes, disk: storage.name, colo: colo(0) }),
    ...others.map((other, i) => worker(other, parts, { texts, bindings: bindings('gateway'), colo: colo(i + 1) })),
    worker('kv', modules(workers, 'kv.js')),
    worker('seed', modules(workers, 'seed.js'), { bindings: bindings('gateway') }),
  ]
  return configure(name, services, ['gateway', ...others, 'seed'])
}

/** A Worker with only the gateway's bindings and objects. Its KV namespace does not respond. */
export function aloneConfig(name, parts) {
  const storage = disk(`${name}-objects`)
  const kv = external('kv', 'http://127.0.0.1:9') // the port of the discard protocol, which nothing uses anymore
  return configure(
    name,
    [storage, kv, worker(name, parts, { bindings: bindings(), classes, disk: storage.name })],
    [name],
  )
}

/** Stores projects created by bench/seed. */
export async function plant(urls, ...projects) {
  const response = await fetch(urls.seed, { method: 'POST', body: JSON.stringify(projects) })
  if (!response.ok) throw new Error(`seeding: ${response.status} ${await response.text()}`)
}

/** The gateway's modules in a wrapper that counts and delays its platform operations (see workers/measured.js). */
export function measured(parts) {
  return [...modules(join(BENCH, 'workers'), 'measured.js'), ...parts]
}
