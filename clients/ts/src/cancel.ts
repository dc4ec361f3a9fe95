// Ends one HTTP request: when the caller aborts, when the time is up, or when its reader stops.
import { APIAbortedError, APIConnectionError, APITimeoutError, type PosternError } from './errors.js'

/** Undici, the library behind Node's fetch, has its own time limits (https://undici.nodejs.org/#/docs/api/Client). */
const UNDICI_TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']

/** The cancellation of one attempt, and of a stream that it opened. */
export class Cancel {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #onAbort = () => this.#controller.abort()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timedOut = false
  #stopped = false

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller
    caller?.addEventListener('abort', this.#onAbort)
    if (caller?.aborted) this.#onAbort()
  }

  /** The signal for the transport. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the time ran out. */
  get timedOut(): boolean {
    return this.#timedOut
  }

  /** Whether the caller or the reader ended the request. */
  get aborted(): boolean {
    return this.#stopped || this.#caller?.aborted === true
  }

  /** Starts or restarts the timer. */
  within(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#controller.abort()
    }, ms)
  }

  /** Waits for something that does not support signals. Rejects when the request must end. */
  race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const end = () => reject(signal.reason)
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
    })
  }

  /** Stops the timer. */
  pause(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the request because its reader has stopped reading. */
  stop(): void {
    this.#stopped = true
    this.release()
    this.#controller.abort()
  }

  /** Removes the timer and the listener, which would keep the process and this object alive. */
  release(): void {
    this.pause()
    this.#caller?.removeEventListener('abort', this.#onAbort)
  }

  /** The error for an exception from the transport. */
  errorOf(thrown: unknown, what: string, { url, timeout }: { url: string; timeout: number }): PosternError {
    if (this.aborted) return abortedError(this.#caller)
    if (this.#timedOut) return new APITimeoutError(`${what} timed out after ${timeout} ms`)
    const code = codeOf(thrown)
    if (code && UNDICI_TIMEOUTS.includes(code)) {
      return new APITimeoutError(`${what} timed out in the transport (${code})`, { cause: thrown })
    }
    const said = statusOfProxy(thrown) ?? code
    const reason = said ? ` (${said})` : ''
    return new APIConnectionError(`${what}: connection to ${new URL(url).origin} failed${reason}`, { cause: thrown })
  }
}

/** The error of a call whose signal was aborted. */
export function abortedError(caller: AbortSignal | undefined): APIAbortedError {
  return new APIAbortedError('The call was aborted', { cause: caller?.reason })
}

/** The system's code of an error, such as ECONNREFUSED. */
function codeOf(thrown: unknown): string | undefined {
  const { cause, code } = (thrown ?? {}) as { cause?: { code?: unknown }; code?: unknown }
  const found = cause?.code ?? code
  return typeof found === 'string' ? found : undefined
}

/** A proxy's refusal, which undici and Node's fetch report only in the message of an inner error. */
function statusOfProxy(thrown: unknown): string | undefined {
  for (let error = thrown as Error | undefined, depth = 0; error instanceof Error && depth < 4; depth++) {
    const status = /^Proxy .*\((\d{3})\)/.exec(error.message)?.[1]
    if (status) return `the proxy answered ${status}`
    error = error.cause as Error | undefined
  }
  return undefined
}
