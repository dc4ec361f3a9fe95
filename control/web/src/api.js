// Client of the admin API: JSON under /api/admin, authenticated by the session cookie.

const ROOT = '/api/admin'
const UNREACHABLE = 'unreachable'
const TIMEOUT_MS = 30_000

/** An error response, or no response at all (status 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{error?: string, code?: string, requestId?: string, details?: {field: string, message: string}[]}} body
   * @param {number | null} retryAfter seconds
   * @param {boolean} documented whether the response links to the documentation, which the deployment thus serves
   */
  constructor(status, body, retryAfter = null, documented = false) {
    super(body.error ?? `HTTP ${status}`)
    this.status = status
    this.code = body.code ?? `status_${status}`
    this.requestId = body.requestId ?? ''
    this.details = Array.isArray(body.details) ? body.details : []
    this.retryAfter = retryAfter
    this.documented = documented
  }
}

let signedOut = () => {}

/** @param {() => void} handler called when a response says that there is no session or that it has ended */
export function onSignedOut(handler) {
  signedOut = handler
}

/** A query string that omits empty, null and undefined values. */
export function queryOf(query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined)
  return set.length > 0 ? `?${new URLSearchParams(set)}` : ''
}

/** Template tag that builds a path under /api/admin and escapes each value: path`projects/${id}`. */
export function path(strings, ...values) {
  return strings.reduce((text, piece, i) => `${text}${encodeURIComponent(values[i - 1])}${piece}`)
}

/**
 * Calls the admin API. Times out after 30 s, so no dialog waits forever.
 * @param {string} method
 * @param {string} to below /api/admin/
 * @param {{query?: object, body?: object, headers?: object, signal?: AbortSignal, anonymous?: boolean}} [options]
 *   anonymous: a 401 is an expected response and does not end the session
 * @returns {Promise<any>} the response's JSON; null for 204
 * @throws {ApiError}
 */
export async function call(method, to, { query, body, headers, signal, anonymous = false } = {}) {
  const response = await send(`${ROOT}/${to}${queryOf(query)}`, {
    method,
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    credentials: 'same-origin',
    cache: 'no-store',
    headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers },
    body: body ? JSON.stringify(body) : undefined,
  })
  if (response.ok) return response.status === 204 ? null : await jsonOf(response)
  if (response.status === 401 && !anonymous) signedOut()
  throw await errorOf(response)
}

async function send(url, init) {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (cause.name === 'AbortError') throw cause
    throw new ApiError(0, { error: 'Could not reach the server', code: UNREACHABLE })
  }
}

async function jsonOf(response) {
  try {
    return await response.json()
  } catch (cause) {
    if (cause.name === 'AbortError') throw cause
    throw new ApiError(0, { error: 'The response was cut off', code: UNREACHABLE })
  }
}

/** An ApiError for an error response, whatever its body is. @param {Response} response */
export async function errorOf(response) {
  const body = await response.json().catch(() => ({}))
  const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10)
  const documented = response.headers.get('link')?.includes('rel="help"') ?? false
  return new ApiError(response.status, flatError(body), Number.isNaN(seconds) ? null : seconds, documented)
}

/** Converts OpenAI's nested error shape to Postern's flat one. */
function flatError(body) {
  const nested = body?.error
  if (nested === null || typeof nested !== 'object') return body ?? {}
  return { error: nested.message, code: nested.code ?? nested.type, requestId: body.requestId }
}

export const get = (to, options) => call('GET', to, options)
export const post = (to, body, options) => call('POST', to, { ...options, body })
export const patch = (to, body) => call('PATCH', to, { body })
export const put = (to, body) => call('PUT', to, { body })
export const remove = (to, options) => call('DELETE', to, options)
