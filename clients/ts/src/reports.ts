// Status and usage of a key and its project: GET /api/health and /api/usage.
import type { CallOptions } from './options.js'
import type { APIPromise } from './promise.js'
import { checkParams } from './request.js'
import type { Transport } from './transport.js'

/** An active key. */
export interface HealthStatus {
  status: 'ok'
  authenticated: true
  /** The key's project. */
  projectId: string
}

/** Whether the key works. */
export class Health {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Confirms that the key is active and gets its project. Fails with an AuthenticationError if the key is inactive. */
  get(options: CallOptions = {}): APIPromise<HealthStatus> {
    return this.#transport.json({ method: 'GET', path: '/api/health' }, options, (value, received) => {
      if (typeof value.project_id !== 'string') {
        throw this.#transport.invalid(received, 'has no project_id')
      }
      const { project_id: projectId, ...rest } = value
      return { ...rest, projectId } as HealthStatus
    })
  }
}

/** Parameters of a usage report. */
export interface UsageParams {
  /** The key's own project. By default, it is looked up once with `health.get()`. */
  projectId?: string | undefined
  /** The current day, week or month, in UTC. Default `month`. */
  period?: 'day' | 'week' | 'month' | undefined
}

/**
 * Input tokens that providers read from their own prompt caches or wrote to them. A hit in the gateway's cache does
 * not count, because it does not call a provider.
 */
export interface PromptCacheUsage {
  readTokens: number
  writeTokens: number
  /** Dollars; negative if writes cost more than reads saved. */
  saved: number
}

/** Usage of a project. Amounts are in dollars. */
export interface UsageReport {
  /** The current budget period. */
  budget: { limit: number; used: number; remaining: number }
  /** `hitRate` is the percentage of cache lookups that were hits. */
  cache: { hits: number; misses: number; hitRate: number }
  /** Prompt caches of providers. Absent from older gateways. */
  promptCache?: PromptCacheUsage
  /**
   * By model name. `requests` includes requests served from the cache; `tokens` does not. `promptCache` is absent if
   * none was used.
   */
  models: Record<string, { requests: number; tokens: number; cost: number; promptCache?: PromptCacheUsage }>
  /** ISO 8601 times. The end is exclusive. */
  period: { start: string; end: string }
}

/** Usage reports. */
export class UsageReports {
  readonly #transport: Transport
  readonly #health: Health
  #projectId: string | undefined

  /** @internal */
  constructor(transport: Transport, health: Health) {
    this.#transport = transport
    this.#health = health
  }

  /** Gets the usage of the key's project, including every request that has already settled. */
  get(params: UsageParams = {}, options: CallOptions = {}): APIPromise<UsageReport> {
    const call = async () => {
      checkParams(params)
      const { projectId, period } = params
      const query = { projectId: projectId ?? (await this.#ownProject(options)), period }
      return { method: 'GET' as const, path: '/api/usage', query }
    }
    return this.#transport.json<UsageReport>(call, options)
  }

  async #ownProject(options: CallOptions): Promise<string> {
    this.#projectId ??= (await this.#health.get(options)).projectId
    return this.#projectId
  }
}
