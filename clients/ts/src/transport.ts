// One call: its HTTP requests, with retries, time limits, hooks and logs.
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
import { checkedHeaders } from './headers.js'
import { callHook, HookFailure } from './hooks.js'
import { isObject, parsed } from './json.js'
import { keyOfAttempt } from './key.js'
import { metaOf, type ResponseMeta } from './meta.js'
import type { CallOptions, Settings } from './options.js'
import { APIPromise, type WithResponse } from './promise.js'
import { type Call, prepare, type Running } from './request.js'
import { mayRepeat, type Pause, pauseBefore } from './retry.js'

/** A successful response. */
export interface Answered {
  running: Running
  response: Response
  meta: ResponseMeta
  /** The attempt that succeeded, starting at 1. */
  attempt: number
  cancel: Cancel
}

/** A successful response and the value read from its body. */
export interface Received<B> extends Answered {
  body: B
}

/** The parts that tests replace. */
export interface Replaced {
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
  random(): number
}

/** Sends the calls of one client. */
export class Transport {
  readonly settings: Settings
  readonly #replaced: Replaced
  /** Calls that are in a pause that the server asked for. */
  #waiting = 0

  constructor(settings: Settings, replaced: Partial<Replaced> = {}) {
    this.settings = settings
    this.#replaced = { sleep, random: Math.random, ...replaced }
  }

  /**
   * A call whose response is a JSON object. `read` checks and completes the object. If `call` is a function, an
   * invalid argument rejects the promise instead of throwing.
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

  /** A call whose response may be any JSON. A response without content is null. */
  any<T>(call: () => Call, options: CallOptions): APIPromise<T> {
    const run = async (): Promise<WithResponse<T>> => {
      const received = await this.whole(call(), options)
      const value = received.response.status === 204 ? null : parsed(received.body)
      if (value === undefined) throw this.invalid(received, 'is not JSON')
      return withResponse(value as T, received)
    }
    return new APIPromise(run())
  }

  /** A call whose response is read as text. */
  async whole(call: Call, options: CallOptions): Promise<Received<string>> {
    const received = await this.send(call, options, readText)
    received.cancel.release()
    return received
  }

  /** Logs a response that is not as the API promises, and returns the error for it. */
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

  /** Logs the final failure of a call. A 4xx status is for the caller to handle. */
  failed(
    { call }: Running,
    attempts: number,
    fields: { status: number | null; code: string | null; requestId: string | null },
  ): void {
    const level = fields.status !== null && fields.status >= 400 && fields.status < 500 ? 'info' : 'error'
    this.settings.log.write(level, 'request_failed', { method: call.method, path: call.path, ...fields, attempts })
  }

  /**
   * Attempts a call until it succeeds or fails permanently. `read` reads the body and is part of the attempt. The
   * caller must stop or release `cancel`.
   */
  async send<B>(call: Call, options: CallOptions, read: (response: Response) => Promise<B>): Promise<Received<B>> {
    const running = prepare(call, options, this.settings)
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(running, attempt, read)
      if (!(outcome instanceof PosternError)) {
        this.#warn(outcome.meta)
        return outcome
      }
      const pause = this.#nextPause(running, outcome, attempt)
      if (pause === null) throw this.#giveUp(running, outcome, attempt)
      await this.#wait(pause, running.signal)
    }
  }

  async #wait({ ms, asked }: Pause, signal: AbortSignal | undefined): Promise<void> {
    if (asked) this.#waiting++
    try {
      await this.#replaced.sleep(ms, signal)
    } finally {
      if (asked) this.#waiting--
    }
  }

  async #attempt<B>(
    running: Running,
    attempt: number,
    read: (response: Response) => Promise<B>,
  ): Promise<Received<B> | PosternError> {
    const cancel = new Cancel(running.signal)
    try {
      const { response, apiKey } = await this.#exchange(running, attempt, cancel)
      if (!response.ok) {
        const text = await readText(response)
        cancel.release()
        this.logContent('response_body', text)
        const { url, call, governed } = running
        const sent = { url, path: call.path, baseURL: this.settings.baseURL, apiKey }
        return errorOf(response.status, response.headers, text, governed, sent)
      }
      const body = await read(response)
      cancel.pause()
      if (typeof body === 'string') this.logContent('response_body', body)
      return { running, response, meta: metaOf(response.headers), attempt, cancel, body }
    } catch (thrown) {
      cancel.release()
      if (thrown instanceof HookFailure) {
        cancel.stop() // ends a response that nobody reads
        throw thrown.error
      }
      if (thrown instanceof InvalidResponseError || thrown instanceof ConfigurationError) return thrown
      const { method, path } = running.call
      return cancel.errorOf(thrown, `${method} ${path}`, running)
    }
  }

  /** Sends one request. The key function and the hooks are part of the attempt, and their time counts. */
  async #exchange(running: Running, attempt: number, cancel: Cancel): Promise<{ response: Response; apiKey: string }> {
    const { url, body, timeout } = running
    const { method, path } = running.call
    const { log, fetch, apiKey, wanted, onRequest, onResponse } = this.settings
    if (cancel.aborted) throw abortedError(running.signal)
    cancel.within(timeout)
    const key = await cancel.race(keyOfAttempt(apiKey, wanted))
    const shown = new Headers(running.headers)
    if (onRequest) {
      await cancel.race(callHook(onRequest, { method, path, attempt, headers: shown }))
      checkedHeaders(shown)
    }
    const headers = new Headers(shown) // a hook may keep the original, so the key goes into a copy
    headers.set('x-api-key', key)
    log.write('debug', 'request', { method, path, attempt })
    if (body !== null) this.logContent('request_body', body)
    const startMs = Date.now()
    // Redirects are errors, because the key must not be sent to another host.
    const response = await fetch(url, { method, headers, body, signal: cancel.signal, redirect: 'manual' })
    const { status } = response
    const requestId = response.headers.get('x-request-id')
    const ms = Date.now() - startMs
    log.write('debug', 'response', { method, path, status, requestId, ms })
    if (onResponse) {
      const seen = { method, path, attempt, status, headers: new Headers(response.headers), requestId, ms }
      await cancel.race(callHook(onResponse, seen))
    }
    return { response, apiKey: key }
  }

  /** The pause before the next attempt; null if there is none. */
  #nextPause({ call, retries }: Running, error: PosternError, attempt: number): Pause | null {
    const lost = error instanceof APIConnectionError
    if (attempt > retries || !(lost || error instanceof APIError)) return null
    const { status, headers } = lost ? { status: null, headers: null } : error
    if (!mayRepeat({ status, headers }, call.repeatable ?? true)) return null
    const pause = pauseBefore(headers, attempt, Date.now(), this.#replaced.random, this.#waiting)
    if (pause === null) return null
    const reason = lost ? { error: codeOfLost(error) } : { status }
    const { log } = this.settings
    log.write('info', 'retry', { method: call.method, path: call.path, attempt, ...reason, pauseMs: pause.ms })
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

  /** Logs a body, if the caller asked for that. */
  logContent(msg: string, text: string): void {
    if (this.settings.log.content) this.settings.log.write('debug', msg, { body: parsed(text) ?? text })
  }

  /** Logs each fact about the model that the developer should know, but only once. */
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
export function withResponse<T>(data: T, { response, meta, body }: Received<string | null>): WithResponse<T> {
  return { data, response: { status: response.status, headers: response.headers, body }, meta }
}

function codeOfLost(error: APIConnectionError): string {
  return error instanceof APITimeoutError ? 'timeout' : 'connection'
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
