// Violations of the project's policy: /api/violations. Needs a project key (`pk_`).
import type { CallOptions } from './options.js'
import { firstPage, Page, type PagePromise } from './page.js'
import type { APIPromise } from './promise.js'
import { checkParams, pathPart } from './request.js'
import type { Transport } from './transport.js'

/** The state of a violation. `resolved` and `false_positive` are closed. */
export type ViolationState = 'open' | 'acknowledged' | 'resolved' | 'false_positive'

/** Findings of one key and rule within a minute. */
export interface Violation {
  id: string
  state: ViolationState
  /** The rule, or `(more)` for all rules after the first 64 within a minute. */
  rule: string
  category: string
  severity: 'low' | 'medium' | 'high' | 'critical'
  /** The strongest decision about the findings. */
  decision: 'block' | 'review' | 'redact'
  /** `input`: in a request. `output`: in a response. */
  direction: 'input' | 'output'
  /** The requested model or tier. */
  model: string
  /** The key's ID. */
  key: string
  /** ID of the last request. */
  requestId: string
  /** Path of the last finding in the JSON body. */
  path: string
  /** Offset of the last finding's first byte in the decoded text, in UTF-8. */
  start: number
  /** Offset of the first byte after the last finding. */
  end: number
  /** Highest risk score of the requests, 0 to 100. */
  riskScore: number
  policyVersion: number
  /** Number of findings. */
  count: number
  /** Increases with each change. */
  version: number
  /** HMAC of the match. Equal matches in a project have equal fingerprints. Null for rules without a match. */
  fingerprint: string | null
  /** The last two characters of personal data. */
  excerpt: string | null
  /** ISO 8601. */
  firstAt: string
  /** ISO 8601. */
  lastAt: string
  note: string | null
  /** ISO 8601. */
  changedAt: string | null
  /** A key's ID, `owner`, or an owner's email address. */
  changedBy: string | null
}

/** Selects the violations to list. */
export interface ViolationFilters {
  state?: ViolationState | undefined
  rule?: string | undefined
  category?: string | undefined
  severity?: Violation['severity'] | undefined
  decision?: Violation['decision'] | undefined
  /** Model or tier. */
  model?: string | undefined
  /** A key's ID. */
  key?: string | undefined
  /** Only violations from this time on. A date means midnight UTC. */
  from?: string | Date | undefined
  /** Only violations before this time. */
  to?: string | Date | undefined
  /** Violations per page, 1 to 100. Default 50. */
  limit?: number | undefined
  /** The `next` of an earlier page. */
  after?: string | undefined
}

/** A change to a violation. Missing fields stay unchanged. */
export interface ViolationChange {
  state?: ViolationState | undefined
  /** At most 1000 characters. Null removes the note. */
  note?: string | null | undefined
  /** The version that the change is based on. If it is outdated, the change fails with a ConflictError. */
  version?: number | undefined
}

const PATH = '/api/violations'

/** Violations. */
export class Violations {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists violations, newest first.
   *
   * ```ts
   * for await (const violation of postern.violations.list({ state: 'open' })) console.log(violation.rule)
   * ```
   */
  list(filters: ViolationFilters = {}, options: CallOptions = {}): PagePromise<Violation> {
    const list = {
      path: PATH,
      member: 'violations',
      make: (items: Violation[], next: string | null, load: (after: string) => Promise<Page<Violation>>) =>
        new Page(items, next, load),
    }
    return firstPage(this.#transport, list, filters, options)
  }

  /** Gets a violation. */
  get(id: string, options: CallOptions = {}): APIPromise<Violation> {
    const call = () => ({ method: 'GET' as const, path: pathOf(id) })
    return this.#transport.json<Violation>(call, options)
  }

  /**
   * Changes a violation's state and note. If an error leaves open whether the change was made, the call is not
   * retried.
   */
  update(id: string, change: ViolationChange, options: CallOptions = {}): APIPromise<Violation> {
    const call = () => {
      checkParams(change)
      return { method: 'PATCH' as const, path: pathOf(id), body: change, repeatable: false }
    }
    return this.#transport.json<Violation>(call, options)
  }
}

function pathOf(id: string): string {
  return `${PATH}/${pathPart(id, 'id')}`
}
