// One call: its HTTP requests, with retries, time limits and logs.
import { readText } from './body.js'
import { abortedError, Cancel } from './cancel.js'
import {
  APIConnectionError,
  APIError,
  APITimeoutError,
  ConfigurationError,
  InvalidResponseError,
  PosternError,
} from './errors.js'
import { errorOf, fromWhere, isPage } from './failure.js'
import { isObject, parsed } from './json.js'
import { metaOf, type ResponseMeta } from './meta.js'
import { type CallOptions, checkCall, governing, type Settings } from './options.js'
import { APIPromise, type WithResponse } from './promise.js'
import { mayRepeat, pauseMs } from './retry.js'
import { userAgent } from './runtime.js'

/** Values of a query; undefined ones are left out. */
export type Query = Record<string, string | number | Date | null | undefined>

/** A call of an endpoint. */
export interface Call {
  method: 'GET' | 'POST' | 'PATCH'
  /** Behind the base URL, encoded. */
  path: string
  query?: Query
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Default `application/json`. */
  accept?: string
  /** Whether a second request after an unknown outcome is acceptable. Default true. */
  repeatable?: boolean
  /** Whether the Governor checks the request. */
  governed?: boolean
  /** Whether an idempotency key is accepted. */
  idempotent?: boolean
}

/** A call that is on its way: everything that its attempts share. */
export interface Running {
  call: Call
  url: string
  headers: Headers
  body: string | null
  timeout: number
  retries: number
  signal: AbortSignal | undefined
  governed: boolean
}

/** A successful response. */
export interface Answered {
  running: Running
  response: Response
  meta: ResponseMeta
  /** The attempt that succeeded, from 1. */
  attempt: number
  cancel: Cancel
}

/** A successful response and the value read from its body. */
export interface Received<B> extends Answered {
  body: B
}

/** What tests replace. */
export interface Hooks {
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
  random(): number
}

/** Sends the calls of one client. */
export class Transport {
  readonly settings: Settings
  readonly #hooks: Hooks

  constructor(settings: Settings, hooks: Partial<Hooks> = {}) {
    this.settings = settings
    this.#hooks = { sleep, random: Math.random, ...hooks }
  }

  /**
   * A call whose response is a JSON object. `read` checks and completes it. A wrong argument of a call that is a function
   * rejects the promise.
   */
  json<T>(
    call: Call | (() => Call | Promise<Call>),
    options: CallOptions,
    read: (value: Record<string, unknown>, received: Received<string>) => T | Promise<T> = (value) => value as T,
  ): APIPromise<T> {
    const run = async (): Promise<WithResponse<T>> => {
      const received = await this.whole(typeof call === 'function' ? await call() : call, options)
      const value = parsed(received.body)
      if (!isObject(value)) throw this.invalid(received, 'is not a JSON object')
      return withResponse(await read(value, received), received)
    }
    return new APIPromise(run())
  }

  /** A call whose response is read as text. */
  async whole(call: Call, options: CallOptions): Promise<Received<string>> {
    const received = await this.send(call, options, readText)
    received.cancel.release()
    return received
  }

  /** Logs a response that is not what the API promises, and returns its error. */
  invalid({ running, response, attempt }: Answered, problem: string): InvalidResponseError {
    const { baseURL } = this.settings
    const page = isPage(response.headers)
    const what = page ? `is an HTML page${fromWhere({ url: running.url, baseURL }, true)}` : problem
    const error = new InvalidResponseError(`The response ${what}`, {
      status: response.status,
      requestId: response.headers.get('x-request-id'),
    })
    this.failed(running, attempt, { status: response.status, code: 'invalid_response', requestId: error.requestId })
    return error
  }

  /** Logs the final failure of a call. A 4xx is an answer that the caller deals with. */
  failed(
    { call }: Running,
    attempts: number,
    fields: { status: number | null; code: string | null; requestId: string | null },
  ): void {
    const level = fields.status !== null && fields.status >= 400 && fields.status < 500 ? 'info' : 'error'
    this.settings.log.write(level, 'request_failed', { method: call.method, path: call.path, ...fields, attempts })
  }

  /**
   * Attempts a call until it succeeds or fails for good. `read` reads the body and is part of the attempt. The caller
   * must stop or release `cancel`.
   */
  async send<B>(call: Call, options: CallOptions, read: (response: Response) => Promise<B>): Promise<Received<B>> {
    const running = this.#prepare(call, options)
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(running, attempt, read)
      if (!(outcome instanceof PosternError)) {
        this.#warn(outcome.meta)
        return outcome
      }
      const pause = this.#nextPause(running, outcome, attempt)
      if (pause === null) throw this.#giveUp(running, outcome, attempt)
      await this.#hooks.sleep(pause, running.signal)
    }
  }

  async #attempt<B>(
    running: Running,
    attempt: number,
    read: (response: Response) => Promise<B>,
  ): Promise<Received<B> | PosternError> {
    const cancel = new Cancel(running.signal)
    try {
      const response = await this.#fetch(running, attempt, cancel)
      if (!response.ok) {
        const text = await readText(response)
        cancel.release()
        this.logContent('response_body', text)
        const { url, call, governed } = running
        return errorOf(response.status, response.headers, text, governed, { ...this.settings, url, path: call.path })
      }
      const body = await read(response)
      cancel.pause()
      if (typeof body === 'string') this.logContent('response_body', body)
      return { running, response, meta: metaOf(response.headers), attempt, cancel, body }
    } catch (thrown) {
      cancel.release()
      if (thrown instanceof InvalidResponseError) return thrown
      const { method, path } = running.call
      return cancel.errorOf(thrown, `${method} ${path}`, running)
    }
  }

  async #fetch(running: Running, attempt: number, cancel: Cancel): Promise<Response> {
    const { call, url, headers, body, timeout } = running
    const { method, path } = call
    const { log, fetch } = this.settings
    if (cancel.aborted) throw abortedError(running.signal)
    log.write('debug', 'request', { method, path, attempt })
    if (body !== null) this.logContent('request_body', body)
    const startMs = Date.now()
    cancel.within(timeout)
    // Redirects are errors: the key must not travel to another host.
    const response = await fetch(url, { method, headers, body, signal: cancel.signal, redirect: 'manual' })
    const requestId = response.headers.get('x-request-id')
    log.write('debug', 'response', { method, path, status: response.status, requestId, ms: Date.now() - startMs })
    return response
  }

  /** The pause before the next attempt; null if there is none. */
  #nextPause({ call, retries }: Running, error: PosternError, attempt: number): number | null {
    const lost = error instanceof APIConnectionError
    if (attempt > retries || !(lost || error instanceof APIError)) return null
    const { status, headers } = lost ? { status: null, headers: null } : error
    if (!mayRepeat({ status, headers }, call.repeatable ?? true)) return null
    const pause = pauseMs(headers, attempt, Date.now(), this.#hooks.random)
    if (pause === null) return null
    const reason = lost ? { error: codeOfLost(error) } : { status }
    const { log } = this.settings
    log.write('info', 'retry', { method: call.method, path: call.path, attempt, ...reason, pauseMs: pause })
    return pause
  }

  #giveUp(running: Running, error: PosternError, attempts: number): PosternError {
    if (error instanceof APIConnectionError) {
      this.failed(running, attempts, { status: null, code: codeOfLost(error), requestId: null })
    } else if (error instanceof APIError || error instanceof InvalidResponseError) {
      const code = error instanceof APIError ? error.code : 'invalid_response'
      this.failed(running, attempts, { status: error.status, code, requestId: error.requestId })
    }
    return error
  }

  #prepare(call: Call, options: CallOptions): Running {
    checkCall(options)
    const { settings } = this
    const { enabled, header } = governing(settings.governor, options.governor)
    const headers = this.#headers(call, options, call.governed ? header : null)
    return {
      call,
      url: settings.baseURL + call.path + search(call.query ?? {}),
      headers,
      body: call.body === undefined ? null : serialized(call.body),
      timeout: options.timeout ?? settings.timeout,
      retries: options.retries ?? settings.retries,
      signal: options.signal,
      governed: enabled,
    }
  }

  #headers(call: Call, options: CallOptions, govern: string | null): Headers {
    const { apiKey, idempotency } = this.settings
    const headers = new Headers({ accept: call.accept ?? 'application/json', 'user-agent': userAgent() })
    if (call.body !== undefined) headers.set('content-type', 'application/json')
    if (govern) headers.set('x-postern-govern', govern)
    const key = options.idempotency ?? idempotency
    if (call.idempotent && key) {
      headers.set('idempotency-key', typeof key === 'string' ? key : `postern-${crypto.randomUUID()}`)
    }
    for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value)
    const own = options.headers ?? {}
    for (const [name, value] of own instanceof Headers ? own : Object.entries(own)) setHeader(headers, name, value)
    headers.set('x-api-key', apiKey)
    return headers
  }

  /** Logs a body, if the caller asked for that. */
  logContent(msg: string, text: string): void {
    if (this.settings.log.content) this.settings.log.write('debug', msg, { body: parsed(text) ?? text })
  }

  /** Logs what the developer should know about the model, once per model. */
  #warn({ model, deprecation, registryWarning, droppedParams }: ResponseMeta): void {
    const { log } = this.settings
    if (deprecation) {
      log.once('warn', 'deprecated_model', { model, sunset: deprecation.sunset, successor: deprecation.successor })
    }
    if (registryWarning) log.once('warn', 'registry_warning', { model, state: registryWarning })
    if (droppedParams.length > 0) log.once('warn', 'dropped_params', { params: droppedParams })
  }
}

/** A result with its response. */
export function withResponse<T>(data: T, { response, meta }: Answered): WithResponse<T> {
  return { data, response: { status: response.status, headers: response.headers }, meta }
}

/** The parameters of a call, which may be anything in JavaScript. The gateway ignores unknown ones. */
export function checkParams(params: unknown, known?: readonly string[]): void {
  if (!isObject(params)) throw new ConfigurationError('The parameters must be an object')
  const unknown = known && Object.keys(params).find((name) => params[name] !== undefined && !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigurationError(`${unknown} is not a parameter; the parameters are ${known?.join(', ')}`)
}

/** An ID as part of a path. */
export function pathPart(id: string, name: string): string {
  // URL parsers resolve "." and "..", encoded or not.
  // Half of a character cannot be encoded.
  if (typeof id !== 'string' || /^\.{0,2}$|\p{Surrogate}/u.test(id))
    throw new ConfigurationError(`${name} must be an ID`)
  return encodeURIComponent(id)
}

function codeOfLost(error: APIConnectionError): string {
  return error instanceof APITimeoutError ? 'timeout' : 'connection'
}

function search(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    params.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = params.toString()
  return text && `?${text}`
}

function serialized(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch {
    throw new ConfigurationError('The parameters cannot be written as JSON')
  }
}

/** Headers of the connection. A second length or framing would let one request hide another. Source: RFC 9110, section 7.6.1. */
const TRANSPORT_HEADERS = /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i

/** Sets a header of the caller. The error names it without its value, which may be secret. */
function setHeader(headers: Headers, name: string, value: string): void {
  if (/^(authorization|x-api-key)$/i.test(name)) {
    throw new ConfigurationError(`headers must not contain ${name}; the client sends its own API key`)
  }
  if (TRANSPORT_HEADERS.test(name))
    throw new ConfigurationError(`headers must not contain ${name}, which the transport sets`)
  try {
    headers.set(name, value)
  } catch {
    throw new ConfigurationError(`headers: ${JSON.stringify(name)} is not a valid header`)
  }
}

/** Waits, or returns early if the signal is aborted. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}
