// workerd without anything in front of it: its configuration, and a process that serves it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import workerd from 'workerd'
import { OUT, start } from './process.mjs'

// The program itself, not the script around it: its CPU time is read by process id.
const BINARY = workerd.default
const COMPATIBILITY_DATE = '2026-11-17'

/** A file of the configuration; capnp takes paths as relative to the configuration's own. */
class Embed {
  constructor(path) {
    this.path = path
  }
}

// Cap'n Proto's text form: names are bare, a list is [..], a struct (..).
function capnp(value) {
  if (value instanceof Embed) return `embed ${JSON.stringify(relative(OUT, value.path))}`
  if (Array.isArray(value)) return `[${value.map(capnp).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `(${Object.entries(value)
    .map(([name, part]) => `${name} = ${capnp(part)}`)
    .join(', ')})`
}

const kinds = { js: 'esModule', wasm: 'wasm', json: 'text' }

/** The modules of a Worker out of files; the first one is the main module. names are as they are imported. */
export function modules(folder, ...names) {
  return names.map((name) => ({ name, [kinds[name.slice(name.lastIndexOf('.') + 1)]]: new Embed(join(folder, name)) }))
}

/** A Worker with bindings: texts by name, and others as workerd's schema has them. */
export function worker(name, parts, { texts = {}, bindings = [], classes = [], disk } = {}) {
  const described = {
    compatibilityDate: COMPATIBILITY_DATE,
    modules: parts,
    bindings: [...Object.entries(texts).map(([name, text]) => ({ name, text })), ...bindings],
  }
  if (classes.length > 0) {
    described.durableObjectNamespaces = classes.map((className) => ({
      className,
      uniqueKey: className,
      enableSql: true,
    }))
    described.durableObjectStorage = { localDisk: disk }
  }
  return { name, worker: described }
}

/** A folder that Durable Objects are stored in, empty at first unless it is to be kept. */
export function disk(name, keep = false) {
  const path = join(OUT, name)
  if (!keep) rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  return { name, disk: { path, writable: true } }
}

// The upstream is on this machine.
const internet = { name: 'internet', network: { allow: ['public', 'private'] } }

/** Writes a configuration; sockets are names of services. Returns how to start it. */
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
 * Starts workerd and waits until it listens on all sockets; urls are by socket. Its standard output, the log
 * lines of the Workers, goes nowhere: to read it here would cost more than to write it.
 */
export async function serve({ path, sockets }) {
  const child = start(BINARY, ['serve', '--experimental', '--control-fd=3', path], { control: true })
  const urls = {}
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, socket, port } = JSON.parse(line)
    if (event === 'listen') urls[socket] = `http://127.0.0.1:${port}`
    if (Object.keys(urls).length === sockets.length) return { child, urls }
  }
  throw new Error(`workerd ended before it listened: ${path}`)
}
