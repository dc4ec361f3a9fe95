// The client's options, checked and completed with POSTERN_ variables and defaults.
import { ConfigurationError } from './errors.js'
import { checkedHeaders } from './headers.js'
import type { RequestHook, ResponseHook } from './hooks.js'
import { isObject } from './json.js'
import { checkedKey, environmentOfKey, type KeyFunction } from './key.js'
import { LOG_LEVELS, Log, type LogLevel, type LogRecord } from './log.js'
import { proxied } from './proxy.js'
import { checkQuery, type Query } from './query.js'
import { variable } from './runtime.js'

/** The environment that an API key belongs to. */
export type Environment = 'production' | 'development'

/**
 * Tightens the project's Governor for this client's calls. It cannot loosen anything, because the project's own
 * policy applies to every call.
 */
export interface GovernorOptions {
  /**
   * If true, the settings below are sent, and a blocked call throws a BlockedByPolicyError. If false, they are not
   * sent, and a blocked call throws an UnprocessableEntityError. Variable `POSTERN_GOVERNOR_ENABLED`, default true.
   */
  enabled?: boolean | undefined
  /**
   * Block calls above the threshold instead of marking them for review. Variable `POSTERN_GOVERNOR_STRICT_MODE`,
   * default false.
   */
  strictMode?: boolean | undefined
  /**
   * The highest risk score that is approved, 0 to 100, if it is lower than the project's. Variable
   * `POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD`.
   */
  autoApproveThreshold?: number | undefined
}

/** The level, the format and the destination of the log. */
export interface LoggingOptions {
  /** The least severe level that is logged. Variable `POSTERN_LOG_LEVEL`, default `warn`. */
  level?: LogLevel | undefined
  /** Readable lines instead of JSON. Variable `POSTERN_LOG_PRETTY`, default false. */
  pretty?: boolean | undefined
  /** Log the bodies of requests and responses, at the level `debug`. Default false. */
  content?: boolean | undefined
  /** Receives the records instead of standard error. */
  logger?: ((record: LogRecord) => void) | undefined
}

/** A function like the global `fetch`. It must pass on `init.signal`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Options of a client. An option that is not given comes from its variable or has its default. */
export interface ClientOptions {
  /**
   * The API key, or a function that returns it. The function is called before each attempt, so it should cache the
   * key. If the function fails, the call fails with a ConfigurationError. Variable `POSTERN_API_KEY`.
   */
  apiKey?: string | KeyFunction | undefined
  /**
   * The gateway's URL, with or without a path, but without `/v1`. Variable `POSTERN_BASE_URL`. For development keys,
   * the default is `http://127.0.0.1:8787`, where `make dev` listens. For other keys, it is required.
   */
  baseURL?: string | undefined
  /**
   * The environment that the key must belong to. Variable `POSTERN_ENVIRONMENT`. By default, the key's prefix
   * (`sk_live_`, `pk_live_`, `sk_test_`, `pk_test_`) determines the environment. If `apiKey` is a function, the
   * default is `production`.
   */
  environment?: Environment | undefined
  /**
   * Milliseconds that one attempt may take, 1 to 2147483647. For a stream, the limit applies until the headers
   * arrive, and then between two reads. Variable `POSTERN_TIMEOUT`, default 600000.
   */
  timeout?: number | undefined
  /** Retries after the first attempt, 0 to 10. Variable `POSTERN_RETRIES`, default 2. */
  retries?: number | undefined
  /**
   * Send an idempotency key with completions, so that a retry is never charged twice. Variable `POSTERN_IDEMPOTENCY`,
   * default false, because the gateway stores a row for each such request.
   */
  idempotency?: boolean | undefined
  governor?: GovernorOptions | undefined
  logging?: LoggingOptions | undefined
  /** Headers of every request. `authorization`, `x-api-key` and headers of the connection itself cannot be set. */
  headers?: Headers | Record<string, string> | undefined
  /** Query parameters of every request. Servers log them, so they must not be secret. */
  query?: Record<string, string | number | boolean | undefined> | undefined
  /** Called before each attempt. It may change the headers, for example to add a `traceparent`. */
  onRequest?: RequestHook | undefined
  /** Called when the headers of a response have arrived, including those of an error. */
  onResponse?: ResponseHook | undefined
  /** The transport, instead of the global `fetch`. */
  fetch?: Fetch | undefined
}

/** Options for one call. */
export interface CallOptions {
  /** Overrides the client's timeout. Milliseconds. */
  timeout?: number | undefined
  /** Overrides the client's. */
  retries?: number | undefined
  /** Overrides the client's, or sets your own key: 1 to 255 printable ASCII characters. */
  idempotency?: boolean | string | undefined
  /** Aborts the call with an APIAbortedError. */
  signal?: AbortSignal | undefined
  /**
   * Additional headers. They replace the client's headers with the same names. `authorization` and `x-api-key` cannot
   * be set.
   */
  headers?: Headers | Record<string, string> | undefined
  /** Additional query parameters, which replace the client's and the call's own parameters with the same name. */
  query?: Record<string, string | number | boolean | undefined> | undefined
  /** Overrides the client's, field by field. */
  governor?: GovernorOptions | undefined
}

/** The complete options of a client. */
export interface Settings {
  apiKey: string | KeyFunction
  baseURL: string
  environment: Environment
  /** The environment that the caller has set; undefined without one. */
  wanted: Environment | undefined
  timeout: number
  retries: number
  idempotency: boolean
  governor: GovernorOptions
  log: Log
  headers: readonly [string, string][]
  query: Query
  onRequest: RequestHook | undefined
  onResponse: ResponseHook | undefined
  fetch: Fetch
}

const CLIENT_OPTIONS = [
  'apiKey',
  'baseURL',
  'environment',
  'timeout',
  'retries',
  'idempotency',
  'governor',
  'logging',
  'headers',
  'query',
  'onRequest',
  'onResponse',
  'fetch',
]
const CALL_OPTIONS = ['timeout', 'retries', 'idempotency', 'signal', 'headers', 'query', 'governor']
const GOVERNOR_OPTIONS = ['enabled', 'strictMode', 'autoApproveThreshold']
const LOGGING_OPTIONS = ['level', 'pretty', 'content', 'logger']
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const MAX_RETRIES = 10
const DEVELOPMENT_URL = 'http://127.0.0.1:8787'

/** Checks a constructor's options and completes them. */
export function settingsOf(options: ClientOptions): Settings {
  onlyKnown(options, CLIENT_OPTIONS, '')
  const { fetch, onRequest, onResponse, headers = {}, query = {} } = options
  for (const [name, given] of Object.entries({ fetch, onRequest, onResponse })) {
    if (given !== undefined && typeof given !== 'function') throw new ConfigurationError(`${name} must be a function`)
  }
  checkQuery(query)
  const log = logOf(options.logging ?? {})
  const apiKey = keyOf(options.apiKey)
  const { environment, wanted } = environmentOf(options.environment, apiKey)
  const baseURL = baseURLOf(options.baseURL, environment, log)
  return {
    apiKey,
    baseURL,
    environment,
    wanted,
    timeout: integer('timeout', options.timeout, 1, MAX_TIMEOUT_MS, 'POSTERN_TIMEOUT') ?? 600_000,
    retries: integer('retries', options.retries, 0, MAX_RETRIES, 'POSTERN_RETRIES') ?? 2,
    idempotency: flag('idempotency', options.idempotency, 'POSTERN_IDEMPOTENCY') ?? false,
    governor: clientGovernor(options.governor ?? {}),
    log,
    headers: checkedHeaders(headers),
    query: { ...query },
    onRequest,
    onResponse,
    fetch: fetch ?? proxied(baseURL, log),
  }
}

/** Checks the options of a call. */
export function checkCall(options: CallOptions): void {
  onlyKnown(options, CALL_OPTIONS, '')
  integer('timeout', options.timeout, 1, MAX_TIMEOUT_MS)
  integer('retries', options.retries, 0, MAX_RETRIES)
  checkGovernor(options.governor ?? {})
  const { idempotency, signal, query = {} } = options
  if (signal && !(typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function')) {
    throw new ConfigurationError('signal must be an AbortSignal')
  }
  checkQuery(query)
  if (typeof idempotency === 'string' && !/^[ -~]{1,255}$/.test(idempotency)) {
    throw new ConfigurationError('idempotency must be 1 to 255 printable ASCII characters')
  }
  if (typeof idempotency !== 'string') flag('idempotency', idempotency)
}

function keyOf(given: string | KeyFunction | undefined): string | KeyFunction {
  if (typeof given === 'function') return given
  const key = option(given, 'POSTERN_API_KEY')
  if (typeof key !== 'string' || key.trim() === '') {
    throw new ConfigurationError('No API key: set the option apiKey or the variable POSTERN_API_KEY')
  }
  return checkedKey(key, named('apiKey', given, 'POSTERN_API_KEY'))
}

function environmentOf(
  given: Environment | undefined,
  key: string | KeyFunction,
): { environment: Environment; wanted: Environment | undefined } {
  const wanted = choice('environment', given, ['production', 'development'], 'POSTERN_ENVIRONMENT')
  const actual = typeof key === 'string' ? environmentOfKey(key) : undefined
  if (wanted && actual && wanted !== actual) {
    const name = named('environment', given, 'POSTERN_ENVIRONMENT')
    throw new ConfigurationError(`${name} is ${wanted}, but the API key is a ${actual} key`)
  }
  return { environment: actual ?? wanted ?? 'production', wanted }
}

function baseURLOf(given: string | undefined, environment: Environment, log: Log): string {
  const text = option(given, 'POSTERN_BASE_URL') ?? (environment === 'development' ? DEVELOPMENT_URL : undefined)
  if (text === undefined) {
    throw new ConfigurationError(
      "No gateway: set the option baseURL or the variable POSTERN_BASE_URL to the gateway's URL",
    )
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  const wrong = (problem: string) => new ConfigurationError(`${named('baseURL', given, 'POSTERN_BASE_URL')} ${problem}`)
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong('must be an http or https URL')
  if (/[?#]/.test(text) || url.username || url.password) {
    throw wrong('must not have a query, a fragment, a user name or a password')
  }
  if (/\/v1\/*$/.test(url.pathname)) throw wrong("is the gateway's address without /v1 (that is for OpenAI's SDKs)")
  const loopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'http:' && !loopback && environment === 'production') {
    log.write('warn', 'insecure_base_url', { host: url.host })
  }
  return url.href.replace(/\/+$/, '')
}

function clientGovernor(given: GovernorOptions): GovernorOptions {
  checkGovernor(given)
  const threshold = 'POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD'
  return {
    enabled: flag('enabled', given.enabled, 'POSTERN_GOVERNOR_ENABLED'),
    strictMode: flag('strictMode', given.strictMode, 'POSTERN_GOVERNOR_STRICT_MODE'),
    autoApproveThreshold: integer('autoApproveThreshold', given.autoApproveThreshold, 0, 100, threshold),
  }
}

function checkGovernor(governor: GovernorOptions): void {
  onlyKnown(governor, GOVERNOR_OPTIONS, 'governor.')
  flag('governor.enabled', governor.enabled)
  flag('governor.strictMode', governor.strictMode)
  integer('governor.autoApproveThreshold', governor.autoApproveThreshold, 0, 100)
}

/** Whether the Governor's settings are enabled, and the header that sends them. */
export function governing(
  client: GovernorOptions,
  call: GovernorOptions = {},
): { enabled: boolean; header: string | null } {
  const enabled = call.enabled ?? client.enabled ?? true
  const threshold = call.autoApproveThreshold ?? client.autoApproveThreshold
  const parts: string[] = []
  if (call.strictMode ?? client.strictMode) parts.push('strict')
  if (threshold !== undefined) parts.push(`threshold=${threshold}`)
  return { enabled, header: enabled && parts.length > 0 ? parts.join(', ') : null }
}

function logOf(given: LoggingOptions): Log {
  onlyKnown(given, LOGGING_OPTIONS, 'logging.')
  const { logger } = given
  if (logger !== undefined && typeof logger !== 'function') {
    throw new ConfigurationError('logging.logger must be a function')
  }
  return new Log({
    level: choice('logging.level', given.level, LOG_LEVELS, 'POSTERN_LOG_LEVEL') ?? 'warn',
    pretty: flag('logging.pretty', given.pretty, 'POSTERN_LOG_PRETTY') ?? false,
    content: flag('logging.content', given.content) ?? false,
    ...(logger && { logger }),
  })
}

/** Rejects unknown options, because a misspelled one would be silently ignored. */
export function onlyKnown(options: object, known: readonly string[], prefix: string): void {
  if (!isObject(options)) throw new ConfigurationError(`${prefix.slice(0, -1) || 'options'} must be an object`)
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new ConfigurationError(`${prefix}${name} is not an option; the options are ${known.join(', ')}`)
    }
  }
}

/** An option or its variable. */
function option<T>(given: T | undefined, name?: string): T | string | undefined {
  return given ?? (name === undefined ? undefined : variable(name))
}

/** The name to use in an error: the option if it was given, else the variable. Never the value, which may be secret. */
function named(name: string, given: unknown, from?: string): string {
  return given === undefined && from !== undefined ? from : name
}

function integer(name: string, given: number | undefined, min: number, max: number, from?: string): number | undefined {
  const value = option(given, from)
  if (value === undefined) return undefined
  const number = typeof value === 'string' && given === undefined && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new ConfigurationError(`${named(name, given, from)} must be an integer from ${min} to ${max}`)
}

function flag(name: string, given: boolean | undefined, from?: string): boolean | undefined {
  const value = option(given, from)
  if (value === undefined || typeof value === 'boolean') return value
  const text = given === undefined ? String(value).toLowerCase() : ''
  if (text === '1' || text === 'true') return true
  if (text === '0' || text === 'false') return false
  throw new ConfigurationError(`${named(name, given, from)} must be true or false`)
}

function choice<T extends string>(name: string, given: T | undefined, of: readonly T[], from: string): T | undefined {
  const value = option(given, from)
  if (value === undefined || of.includes(value as T)) return value as T | undefined
  throw new ConfigurationError(`${named(name, given, from)} must be ${of.slice(0, -1).join(', ')} or ${of.at(-1)}`)
}
