// The client.
import { AI } from './ai.js'
import { Compliance } from './compliance.js'
import { Governor } from './governor.js'
import { Models } from './models.js'
import { type CallOptions, type ClientOptions, type Environment, settingsOf } from './options.js'
import type { APIPromise } from './promise.js'
import { Health, UsageReports } from './reports.js'
import { checkedPath } from './request.js'
import { refuseBrowser } from './runtime.js'
import { type Replaced, Transport } from './transport.js'
import { Violations } from './violations.js'

/** This package's tests use this option to replace the pauses and the random numbers. */
const REPLACED = Symbol.for('@postern-ai/client hooks')

/**
 * A client for a Postern gateway. One client can serve an entire program, even with many concurrent calls.
 *
 * ```ts
 * const postern = new Postern() // with POSTERN_API_KEY and POSTERN_BASE_URL
 * ```
 */
export class Postern {
  /** The gateway's URL, without a trailing slash. */
  readonly baseURL: string
  /** The environment of the API key. */
  readonly environment: Environment
  /** Completions. */
  readonly ai: AI
  /** Checks of texts against the project's policy. */
  readonly governor: Governor
  /** Usage reports. */
  readonly usage: UsageReports
  /** Whether the key works. */
  readonly health: Health
  /** Violations of the project's policy. Needs a project key. */
  readonly violations: Violations
  /** The model registry. Needs a project key. */
  readonly models: Models
  /** Compliance data. Needs a project key. */
  readonly compliance: Compliance
  readonly #transport: Transport

  /** Throws a ConfigurationError if an option or a variable is missing or invalid, and in browsers. */
  constructor(options: ClientOptions = {}) {
    refuseBrowser()
    const settings = settingsOf(options)
    const transport = new Transport(settings, (options as { [REPLACED]?: Partial<Replaced> })[REPLACED])
    this.#transport = transport
    this.baseURL = settings.baseURL
    this.environment = settings.environment
    this.ai = new AI(transport)
    this.governor = new Governor(transport)
    this.health = new Health(transport)
    this.usage = new UsageReports(transport, this.health)
    this.violations = new Violations(transport)
    this.models = new Models(transport)
    this.compliance = new Compliance(transport)
  }

  /**
   * Gets JSON from any endpoint, such as `/v1/models`. `path` begins with a slash and is sent unchanged. Set the
   * query with an option. A response without content (204) is null.
   *
   * ```ts
   * const { data } = await postern.get<{ data: { id: string }[] }>('/v1/models')
   * ```
   */
  get<T = unknown>(path: string, options: CallOptions = {}): APIPromise<T> {
    return this.#transport.any<T>(() => ({ method: 'GET', path: checkedPath(path) }), options)
  }

  /**
   * Posts JSON to any endpoint. A request is retried only if the response proves that nothing was done. If the
   * endpoint supports idempotency keys, set one: the request is then retried after other failures too.
   *
   * ```ts
   * const answer = await postern.post<{ output: unknown[] }>('/v1/responses', { model: 'gpt-4.1-mini', input: 'Hello!' })
   * ```
   */
  post<T = unknown>(path: string, body?: unknown, options: CallOptions = {}): APIPromise<T> {
    const call = () => {
      const idempotent = Boolean(options?.idempotency)
      return {
        method: 'POST',
        path: checkedPath(path),
        body,
        governed: true,
        idempotent,
        repeatable: idempotent,
      } as const
    }
    return this.#transport.any<T>(call, options)
  }
}
