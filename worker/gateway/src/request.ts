import {
  type Configured,
  type Headers as Fields,
  PSEUDO_ADDRESS,
  PSEUDO_ID,
  PSEUDO_METHOD,
  PSEUDO_PATH,
  PSEUDO_QUERY,
} from './abi.ts'
import { pick } from './headers.ts'
import type { Isolate } from './isolate.ts'

/** A caller's request, and the objects needed to serve it. */
export interface Incoming {
  readonly isolate: Isolate
  readonly configured: Configured
  readonly request: Request
  readonly env: Env
  readonly id: string
  /** The client's IP address, or empty if it is unknown. */
  readonly address: string
}

export function incoming(isolate: Isolate, configured: Configured, request: Request, env: Env, id: string): Incoming {
  // At the edge, the platform replaces the value that a client sends. In local workerd, a client can set it, because
  // Miniflare sets it only if it is missing.
  const address = request.headers.get('cf-connecting-ip') ?? ''
  return { isolate, configured, request, env, id, address }
}

/** The fields of the event that begins an exchange. */
export function requestFields({ request, configured, id, address }: Incoming): Fields {
  const fields = pick(request.headers, configured.requestHeaders)
  const { path, query } = pathAndQuery(request.url)
  fields.push(PSEUDO_ID, id, PSEUDO_METHOD, request.method, PSEUDO_PATH, path, PSEUDO_QUERY, query)
  fields.push(PSEUDO_ADDRESS, address)
  return fields
}

// Does not use the URL class, because that normalizes the path. The core gets the path as it was sent.
function pathAndQuery(url: string): { path: string; query: string } {
  const authority = url.indexOf('://') + 3
  const queryAt = url.indexOf('?', authority)
  const end = queryAt < 0 ? url.length : queryAt
  const pathAt = url.indexOf('/', authority)
  const path = pathAt < 0 || pathAt > end ? '/' : url.slice(pathAt, end)
  return { path, query: queryAt < 0 ? '' : url.slice(queryAt + 1) }
}
