// What a call sends except the key: URL, headers and body.
import { ConfigurationError } from './errors.js'
import { checkedHeaders } from './headers.js'
import { isObject } from './json.js'
import { type CallOptions, checkCall, governing, type Settings } from './options.js'
import { type Query, search } from './query.js'
import { userAgent } from './runtime.js'

/** A call to an endpoint. */
export interface Call {
  method: 'GET' | 'POST' | 'PATCH'
  /** After the base URL, encoded. */
  path: string
  query?: Query
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Default `application/json`. */
  accept?: string
  /** Whether the request may be sent again if the outcome of the first one is unknown. Default true. */
  repeatable?: boolean
  /** Whether the Governor checks the request. */
  governed?: boolean
  /** Whether an idempotency key is accepted. */
  idempotent?: boolean
}

/** A call in progress: everything that its attempts share. */
export interface Running {
  call: Call
  url: string
  /** Without the key. */
  headers: Headers
  body: string | null
  timeout: number
  retries: number
  signal: AbortSignal | undefined
  governed: boolean
}

/** Checks a call's options and builds its request. */
export function prepare(call: Call, options: CallOptions, settings: Settings): Running {
  checkCall(options)
  const { enabled, header } = governing(settings.governor, options.governor)
  return {
    call,
    url: settings.baseURL + call.path + search(settings.query, call.query ?? {}, options.query ?? {}),
    headers: headersOf(call, options, settings, call.governed ? header : null),
    body: call.body === undefined ? null : serialized(call.body),
    timeout: options.timeout ?? settings.timeout,
    retries: options.retries ?? settings.retries,
    signal: options.signal,
    governed: enabled,
  }
}

function headersOf(call: Call, options: CallOptions, settings: Settings, govern: string | null): Headers {
  const headers = new Headers({ accept: call.accept ?? 'application/json', 'user-agent': userAgent() })
  if (call.body !== undefined) headers.set('content-type', 'application/json')
  if (govern) headers.set('x-postern-govern', govern)
  const key = options.idempotency ?? settings.idempotency
  if (call.idempotent && key) {
    headers.set('idempotency-key', typeof key === 'string' ? key : `postern-${crypto.randomUUID()}`)
  }
  const given = [...settings.headers, ...Object.entries(call.headers ?? {}), ...checkedHeaders(options.headers ?? {})]
  for (const [name, value] of given) headers.set(name, value)
  return headers
}

function serialized(body: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(body)
  } catch {} // a cycle, or a BigInt
  if (text === undefined) throw new ConfigurationError('The parameters cannot be written as JSON')
  return text
}

/** Checks a call's parameters. A JavaScript caller may pass anything, and the gateway ignores unknown parameters. */
export function checkParams(params: unknown, known?: readonly string[]): void {
  if (!isObject(params)) throw new ConfigurationError('The parameters must be an object')
  const unknown = known && Object.keys(params).find((name) => params[name] !== undefined && !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigurationError(`${unknown} is not a parameter; the parameters are ${known?.join(', ')}`)
}

/** An ID as part of a path. */
export function pathPart(id: string, name: string): string {
  // URL parsers resolve "." and "..", encoded or not. A lone surrogate cannot be encoded.
  if (typeof id !== 'string' || /^\.{0,2}$|\p{Surrogate}/u.test(id))
    throw new ConfigurationError(`${name} must be an ID`)
  return encodeURIComponent(id)
}

/** Checks a path from the caller. However URL parsers interpret it, it must stay on the gateway. */
export function checkedPath(path: string): string {
  const wrong = typeof path !== 'string' || !/^\/(?!\/)(%[\da-f]{2}|[^%?#\\\s\p{Cc}\p{Surrogate}])*$/iu.test(path)
  // Servers and proxies resolve dot segments, even between encoded slashes.
  if (wrong || /(^|[/\\])\.{1,2}([/\\]|$)/.test(path.replace(/%(2e|2f|5c)/gi, decodeURIComponent))) {
    throw new ConfigurationError(
      'path must begin with one slash and have no query (use the option query), fragment, backslash, space, broken percent-encoding or dot segment',
    )
  }
  return path
}
