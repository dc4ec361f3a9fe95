// Connects a model to the gateway: LangChain's OpenAI classes with Postern's key, URL, retries and errors.
import { type LangChainErrorCodes, stampRetryable } from '@langchain/core/errors'
import { type ClientOptions, wrapOpenAIClientError } from '@langchain/openai'
import {
  type AdapterOptions,
  APIConnectionError,
  type APIError,
  adapterSettings,
  ConfigurationError,
  checkCall,
  errorOfV1,
  type GovernorOptions,
  governing,
  InvalidResponseError,
  keyOf,
  PosternError,
  resend,
  type Settings,
  VERSION,
} from '@postern-ai/client/adapter'

/**
 * Options of Postern's classes for LangChain. Options that the client also has have the same defaults and `POSTERN_…`
 * variables.
 */
export interface ConnectionOptions extends Omit<AdapterOptions, 'retries'> {
  /**
   * Maximum number of retries. The client's rules decide which failures are retried. Variable `POSTERN_RETRIES`,
   * default 2.
   */
  maxRetries?: number | undefined
}

const OPTIONS = ['apiKey', 'baseURL', 'environment', 'idempotency', 'governor', 'fetch', 'headers'] as const

/** Postern's settings for one call. */
export interface PosternCallSettings {
  /** Tightens the project's Governor. Overrides the model's setting. */
  governor?: GovernorOptions
  /** Rejects a request with parameters that the model does not support. By default, they are dropped. */
  strict?: boolean
  /** How the gateway's cache is used: `no-store`, `no-cache` or `max-age=N`. */
  cacheControl?: string
  /** An idempotency key, which makes the call safe to repeat: a string, or `true` for a new key. */
  idempotency?: boolean | string
}

/**
 * LangChain's OpenAI classes require a key, so they get a placeholder. `fetch` adds Postern's own key, so no property
 * of a model contains it.
 */
export const PLACEHOLDER = 'in-fetch'

/** A gateway, with the key and the retry rules. */
export class Connection {
  readonly #settings: Settings
  readonly #headers: Record<string, string>

  constructor(options: ConnectionOptions) {
    const given = OPTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]])
    this.#settings = adapterSettings({ ...Object.fromEntries(given), retries: options.maxRetries })
    this.#headers = options.headers ?? {}
  }

  get baseURL(): string {
    return `${this.#settings.baseURL}/v1`
  }

  /**
   * The configuration of OpenAI's client. Fields that are null do not come from OpenAI's variables. The client's log
   * is off because it would contain responses.
   */
  get configuration(): ClientOptions {
    const { baseURL } = this
    return { baseURL, apiKey: PLACEHOLDER, organization: null, project: null, logLevel: 'off', fetch: this.#fetch }
  }

  /** The headers of a call. */
  headers(call: PosternCallSettings, idempotent: boolean): Record<string, string> {
    checkCall({ governor: call.governor, idempotency: call.idempotency })
    const { governor, idempotency } = this.#settings
    const { header } = governing(governor, call.governor)
    const key = idempotent && (call.idempotency ?? idempotency)
    return {
      ...this.#headers,
      ...(header && { 'x-postern-govern': header }),
      ...(call.strict && { 'x-postern-strict': 'true' }),
      ...(call.cacheControl && { 'cache-control': call.cacheControl }),
      ...(key && { 'idempotency-key': key === true ? `postern-${crypto.randomUUID()}` : key }),
    }
  }

  /**
   * Converts an error from OpenAI's client to a Postern error and marks it as LangChain's code expects. If the
   * response was incomplete, `requestId` is its request ID.
   */
  errorOf(thrown: unknown, requestId: string | null = null): unknown {
    const { status, headers, error } = (thrown ?? {}) as { status?: number; headers?: Headers; error?: object }
    if (status === undefined || headers === undefined) return transportError(thrown, requestId)
    const body = { error, request_id: headers.get('x-request-id') }
    const governed = governing(this.#settings.governor).enabled
    return marked(errorOfV1(status, headers, error ? JSON.stringify(body) : '', governed))
  }

  readonly #fetch = (url: string | URL | Request, init?: RequestInit & { retries?: number }): Promise<Response> => {
    const { fetch } = this.#settings
    const { retries = this.#settings.retries, ...request } = init ?? {}
    const headers = new Headers(request.headers)
    headers.delete('authorization')
    headers.set('user-agent', `${headers.get('user-agent') ?? ''} postern-langchain/${VERSION}`.trim())
    const send = async () => {
      headers.set('x-api-key', await keyOf(this.#settings))
      // A redirect must not carry the key to another address.
      return fetch(String(url), { ...request, headers, redirect: 'manual' })
    }
    return resend(send, retries, request.signal ?? undefined)
  }
}

/** Checks that a response has its list, because OpenAI's client accepts any JSON, and even an empty body. */
export function whole<T extends object>(answer: T, list: keyof T): T {
  if (Array.isArray(answer?.[list])) return answer
  throw new SyntaxError(`The response has no ${String(list)}`)
}

// LangChain has its own kinds of aborts and timeouts, which its code recognizes by name. A body that breaks off
// causes the transport's own error, such as undici's "terminated".
function transportError(thrown: unknown, requestId: string | null): unknown {
  if (thrown instanceof PosternError) return thrown
  if (thrown instanceof SyntaxError) {
    const malformed = new InvalidResponseError('The response is not as described', { status: 200, requestId })
    return stampRetryable(malformed, false)
  }
  if (!(thrown instanceof Error) || isAbort(thrown)) return wrapOpenAIClientError(thrown)
  const cause = thrown.constructor.name === 'APIConnectionError' ? thrown.cause : thrown
  if (cause instanceof ConfigurationError) return stampRetryable(cause, false) // of the function apiKey
  return stampRetryable(new APIConnectionError('The connection was lost', { cause }), false)
}

/** Whether the caller or a time limit ended the call. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && /Abort|Timeout/.test(`${thrown.name} ${thrown.constructor.name}`)
}

const CODES: Record<number, LangChainErrorCodes> = {
  401: 'MODEL_AUTHENTICATION',
  404: 'MODEL_NOT_FOUND',
  429: 'MODEL_RATE_LIMIT',
}

// Retries have already been made, so LangChain must not add its own.
function marked(error: APIError): APIError {
  const code = CODES[error.status]
  return stampRetryable(code ? Object.assign(error, { lc_error_code: code }) : error, false)
}
