// Proxies from the environment, in Node.js. Deno and Bun use them on their own. Node's fetch uses them only with
// NODE_USE_ENV_PROXY=1, since 22.21 and 24.0 (https://nodejs.org/api/cli.html#node_use_env_proxy1). Otherwise, the
// client uses fetch from the package `undici`, if the program has it.
import type { Log } from './log.js'
import type { Fetch } from './options.js'
import { inNode, variable } from './runtime.js'

/** The part of `undici` that is used. Source: https://undici.nodejs.org/#/docs/api/ProxyAgent */
interface Undici {
  fetch(url: string, init: object): Promise<Response>
  ProxyAgent: new (options: object) => object
}

/**
 * Where Node and undici store the dispatcher of the global fetch. The program or NODE_USE_ENV_PROXY may have set one.
 */
const DISPATCHERS = [Symbol.for('undici.globalDispatcher.2'), Symbol.for('undici.globalDispatcher.1')]
const nativeFetch = globalThis.fetch

/** A transport through the proxy from the environment, or the global fetch if no proxy applies to the gateway. */
export function proxied(baseURL: string, log: Log): Fetch {
  // If the program replaces the global fetch later, for example in tests, the client uses the replacement.
  const direct: Fetch = (url, init) => globalThis.fetch(url, init)
  const found = inNode() ? proxyOf(new URL(baseURL)) : undefined
  if (!found) return direct
  let through: Promise<Fetch | undefined> | undefined
  return async (url, init) => {
    if (globalThis.fetch !== nativeFetch || hasDispatcher()) return direct(url, init)
    through ??= undiciFetch(found.proxy)
    const send = await through
    if (!send) warn(log, found.variable)
    return (send ?? direct)(url, init)
  }
}

/** Mentions only the variable, because the proxy's URL may contain a password. */
function warn(log: Log, name: string): void {
  const remedy =
    'npm install undici (in Node.js 20 undici@7), or set NODE_USE_ENV_PROXY=1 (Node.js 22.21, 24.0 and later), or pass a fetch'
  log.once('warn', 'proxy_ignored', { variable: name, remedy })
}

function hasDispatcher(): boolean {
  const given = globalThis as unknown as Record<symbol, object | undefined>
  const dispatcher = DISPATCHERS.map((name) => given[name]).find((value) => value !== undefined)
  return dispatcher !== undefined && dispatcher.constructor.name !== 'Agent'
}

/** Undefined if undici is not installed or cannot use the proxy. */
async function undiciFetch(proxy: string): Promise<Fetch | undefined> {
  try {
    const { fetch, ProxyAgent } = await load('undici')
    const { origin, username, password } = new URL(/^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`)
    const token = username && { token: `Basic ${base64(`${decoded(username)}:${decoded(password)}`)}` }
    // The client has its own time limits.
    const dispatcher = new ProxyAgent({ uri: origin, ...token, headersTimeout: 0, bodyTimeout: 0 })
    return (url, init) => fetch(url, { ...init, dispatcher })
  } catch {
    return undefined
  }
}

/** Bundlers leave an import alone if its name is not a constant, or if a comment says so. */
function load(name: string): Promise<Undici> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

/**
 * The variable that has the proxy for a URL, and its value. As in Go, requests to this machine never go through a
 * proxy.
 */
export function proxyOf({ protocol, hostname, port }: URL): { variable: string; proxy: string } | undefined {
  if (/^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return undefined
  const upper = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const name = variable(upper.toLowerCase()) ? upper.toLowerCase() : upper
  const proxy = variable(name)
  const excluded = (variable('no_proxy') ?? variable('NO_PROXY') ?? '').split(/[\s,]+/)
  const actual = port || (protocol === 'https:' ? '443' : '80')
  if (!proxy || excluded.some((entry) => covers(entry, hostname, actual))) return undefined
  return { variable: name, proxy }
}

/**
 * Whether an entry of NO_PROXY covers a host. An entry is `*`, a domain or an address. A domain and an address may
 * have a port. A domain also covers its subdomains. Address ranges (10.0.0.0/8) have no effect.
 */
function covers(entry: string, hostname: string, port: string): boolean {
  if (entry === '*' || `[${entry.toLowerCase()}]` === hostname) return true
  const [, name = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  if (name === '' || (only !== undefined && only !== port)) return false
  const isAddress = /^[\d.]+$|^\[/.test(hostname) // URL writes every IPv4 address as four numbers
  return hostname === name || (!isAddress && hostname.endsWith(`.${name}`))
}
