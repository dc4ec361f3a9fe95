// The runtime that the client runs in: Node, Deno, Bun, workerd, or a browser, which is refused.
import { ConfigurationError } from './errors.js'
import { VERSION } from './version.js'

interface Runtime {
  window?: unknown
  document?: unknown
  WorkerGlobalScope?: unknown
  navigator?: { userAgent?: string }
  process?: { env?: Record<string, string | undefined>; versions?: Record<string, string | undefined> }
}

const runtime = globalThis as unknown as Runtime

/**
 * Throws in a browser's pages and workers, because anyone who can open the page could read the key. Other runtimes
 * also have worker scopes, but only browsers call themselves Mozilla
 * (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/User-Agent).
 */
export function refuseBrowser(): void {
  const page = runtime.window !== undefined && runtime.document !== undefined
  const worker = runtime.WorkerGlobalScope !== undefined && /^Mozilla\//.test(runtime.navigator?.userAgent ?? '')
  if (!page && !worker) return
  throw new ConfigurationError(
    'This client does not run in browsers, because every visitor could read the API key. Call Postern from your server and stream the result to the browser.',
  )
}

/** An environment variable. Undefined if it is empty, or if the runtime has no variables or denies access to them. */
export function variable(name: string): string | undefined {
  try {
    return runtime.process?.env?.[name] || undefined
  } catch {
    return undefined
  }
}

/** `postern-ts/0.1.0 (node 22.23.3)` */
export function userAgent(): string {
  return `postern-ts/${VERSION} (${runtimeName()})`
}

/** Whether this is Node.js itself, not a runtime that has Node's variables and versions for compatibility. */
export function inNode(): boolean {
  return runtimeName().startsWith('node ')
}

function runtimeName(): string {
  const versions = runtime.process?.versions
  if (runtime.navigator?.userAgent === 'Cloudflare-Workers') return 'workerd'
  const name = ['deno', 'bun', 'node'].find((product) => versions?.[product])
  return name ? `${name} ${versions?.[name]}` : 'unknown'
}
