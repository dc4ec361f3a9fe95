// Plain workerd: its configuration and its process.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import workerd from 'workerd'
import { compatibilityDate, compatibilityFlags } from '../../worker/gateway/compatibility.mjs'
import { OUT, start } from './process.mjs'

const own = { compatibilityDate, compatibilityFlags }

// The binary rather than its npm wrapper script, because CPU time is read by process ID.
const BINARY = workerd.default

/** A file embedded in the configuration. capnp resolves paths relative to the configuration file. */
class Embed {
  constructor(path) {
    this.path = path
  }
}

// Cap'n Proto's text format: names are bare, a list is [..], and a struct is (..).
function capnp(value) {
  if (value instanceof Embed) return `embed ${JSON.stringify(relative(OUT, value.path))}`
  if (Array.isArray(value)) return `[${value.map(capnp).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `(${Object.entries(value)
    .map(([name, part]) => `${name} = ${capnp(part)}`)
    .join(', ')})`
}

const kinds = { js: 'esModule', wasm: 'wasm', bin: 'data' }

/** The modules of a Worker, from files whose names match their imports. The first is the main module. */
export function modules(folder, ...names) {
  return names.map((name) => ({ name, [kinds[name.slice(name.lastIndexOf('.') + 1)]]: new Embed(join(folder, name)) }))
}

/**
 * A Worker with bindings: text bindings by name, and others in the form of workerd's schema. colo is the service behind
 * its Cache API. compatibility has the platform settings, which are by default the gateway's.
 */
export function worker(name, parts, options = {}) {
  const { texts = {}, bindings = [], classes = [], disk, colo, compatibility = own } = options
  const described = {
    ...compatibility,
    modules: parts,
    bindings: [...Object.entries(texts).map(([name, text]) => ({ name, text })), ...bindings],
  }
  if (colo !== undefined) described.cacheApiOutbound = colo
  if (classes.length > 0) {
    described.durableObjectNamespaces = classes.map((className) => ({
      className,
      uniqueKey: className,
      enableSql: true,
      preventEviction: true, // an evicted object would forget for which case it works
    }))
    described.durableObjectStorage = { localDisk: disk }
  }
  return { name, worker: described }
}

/** A service in another process, at a URL without a path. */
export function external(name, url) {
  return { name, external: { address: url.slice('http://'.length), http: {} } }
}

const MEMORY_FOLDER = '/dev/shm'

/**
 * A folder for Durable Object storage. It is emptied first, unless keep is set. If inMemory is set and the machine
 * has an in-memory file system, the folder is on it.
 */
export function disk(name, { keep = false, inMemory = false } = {}) {
  const path =
    inMemory && existsSync(MEMORY_FOLDER) ? join(MEMORY_FOLDER, `postern-${process.pid}-${name}`) : join(OUT, name)
  if (!keep) rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  return { name, disk: { path, writable: true } }
}

// The upstream is on this machine.
const internet = { name: 'internet', network: { allow: ['public', 'private'] } }

/** Writes a configuration. sockets are service names. Returns the arguments for serve(). */
export function configure(name, services, sockets) {
  const config = {
    services: [internet, ...services],
    sockets: sockets.map((service) => ({ name: service, address: '127.0.0.1:0', http: {}, service })),
  }
  const path = join(OUT, `${name}.capnp`)
  mkdirSync(OUT, { recursive: true })
  writeFileSync(
    path,
    `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = ${capnp(config)};\n`,
  )
  return { path, sockets }
}

/**
 * Starts workerd and waits until it listens on all sockets. Returns the process and the URL of each socket. Standard
 * output is discarded, because reading the Workers' log lines would cost more CPU than writing them.
 */
export async function serve({ path, sockets }) {
  const child = start(BINARY, ['serve', '--experimental', '--control-fd=3', path], { control: true })
  const urls = {}
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, socket, port } = JSON.parse(line)
    if (event === 'listen') urls[socket] = `http://127.0.0.1:${port}`
    if (Object.keys(urls).length === sockets.length) return { child, urls }
  }
  throw new Error(`workerd exited before it listened: ${path}`)
}
