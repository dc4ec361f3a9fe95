// Evidence of the project's governance: /api/compliance. It needs a project key (`pk_`).
import { isObject, parsed } from './json.js'
import type { CallOptions } from './options.js'
import type { APIPromise } from './promise.js'
import { type Query, search } from './query.js'
import { checkParams } from './request.js'
import type { Received, Transport } from './transport.js'

/** Parameters of an export. */
export interface ExportParams {
  /** The kind of data. Default `audit`. */
  type?: 'inventory' | 'policies' | 'violations' | 'access' | 'usage' | 'audit' | undefined
  /** Only data from this time on. A date means midnight UTC. */
  from?: string | Date | undefined
  /** Only data before this time. */
  to?: string | Date | undefined
  /** Lines per page in addition to the header, 1 to 500. Default 200. */
  limit?: number | undefined
}

/** The first line of each page. docs/guides/compliance.md describes all fields. */
export interface ExportHeader {
  /** A header has no `record`, which all other lines have. */
  record?: undefined
  format: 'postern-export'
  version: number
  type: string
  project: string
  from: string | null
  to: string | null
  next: string | null
  /** SHA-256 of the page's other lines. */
  linesHash: string
  signature: { keyId: string; value: string } | null
  [member: string]: unknown
}

/** A line other than a header: an event of a chain (`event`) or another record. */
export interface ExportRecord {
  record: 'event' | 'policy' | 'key' | 'request' | 'usage' | 'model'
  [member: string]: unknown
}

/** A line of an export. */
export type ExportLine = ExportHeader | ExportRecord

/** A bill of materials: CycloneDX 1.7 in JSON. */
export interface BillOfMaterials {
  bomFormat: 'CycloneDX'
  specVersion: string
  version: number
  [member: string]: unknown
}

/** The number of rules with each action. */
export interface ActionCounts {
  allow: number
  flag: number
  redact: number
  block: number
}

/** The Governor's checks. */
export interface GovernorCoverage {
  /** Whether the plan includes the Governor. */
  available: boolean
  enabled: boolean
  strictMode: boolean
  /** 0 to 100. */
  autoApproveThreshold: number
  /** 0 without a policy. */
  policyVersion: number
  /** The action for content that cannot be checked. */
  unchecked: 'allow' | 'block'
  input: ActionCounts
  /** For system messages and tool definitions. */
  system: ActionCounts
  output: ActionCounts
  /** Number of exempted values and patterns. */
  exemptions: number
  /** Whether the addresses of coding agents are exempted. */
  exemptAgentAddresses: boolean
  keywordLists: number
  patterns: number
  answerSchema: boolean
  classifier: boolean
}

/** A summary of the compliance data. docs/openapi.yaml describes all fields. */
export interface ComplianceSummary {
  project: { id: string; name: string; plan: string; status: 'active' | 'archived' }
  /** ISO 8601. */
  generatedAt: string
  /** The Governor's checks. */
  governor: GovernorCoverage
  registry: {
    enforcement: 'off' | 'warn' | 'enforce'
    states: Record<string, number>
    /** Models that were used but have no entry, at most 100. */
    unregistered: string[]
    /** Models whose review date has passed, at most 100. */
    overdueReviews: string[]
  }
  /** `bySeverity` covers the newest open violations; `counted` is their number. */
  violations: { open: number; acknowledged: number; bySeverity: Record<string, number>; counted: number }
  /** How long each kind of record is kept, in days, or how many records are kept. */
  retention: Record<string, number>
  chains: {
    object: 'directory' | 'ledger'
    /** The oldest entry that is kept; 0 if the chain is empty. */
    oldest: number
    head: { seq: number; hash: string; time: string } | null
    checkpoint: Record<string, unknown> | null
    /** Entries since the newest checkpoint. */
    unsigned: number
  }[]
  signing: { configured: boolean; publicKeys: { keyId: string; publicKey: string }[] }
  samples: string[]
}

const PATH = '/api/compliance/export'

/**
 * An export, page by page. Nothing is requested until you iterate over it. Iterating yields each line as an object.
 * `lines()` yields each line exactly as the server sent it, which verification needs.
 */
export class ComplianceExport implements AsyncIterable<ExportLine> {
  readonly #transport: Transport
  readonly #params: ExportParams
  readonly #options: CallOptions

  /** @internal */
  constructor(transport: Transport, params: ExportParams, options: CallOptions) {
    this.#transport = transport
    this.#params = params
    this.#options = options
  }

  /** Iterates over the lines of all pages, each page's header first. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ExportLine, void, undefined> {
    for await (const page of this.#pages()) {
      for (const line of linesOf(page.body)) {
        const value = parsed(line)
        if (!isObject(value)) throw this.#transport.invalid(page, 'has a line that is not a JSON object')
        yield value as unknown as ExportLine
      }
    }
  }

  /** Iterates over the lines as the server sent them, without line endings. */
  async *lines(): AsyncGenerator<string, void, undefined> {
    for await (const page of this.#pages()) yield* linesOf(page.body)
  }

  async *#pages(): AsyncGenerator<Received<string>, void, undefined> {
    checkParams(this.#params)
    let query: Query | null = { ...this.#params }
    while (query) {
      const call = { method: 'GET' as const, path: PATH, query, accept: 'application/x-ndjson' }
      const page: Received<string> = await this.#transport.whole(call, this.#options)
      yield page
      query = this.#next(page)
    }
  }

  /** The query of the next page. The link must lead to another page of the export, because the key is sent there. */
  #next(page: Received<string>): Query | null {
    const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(page.response.headers.get('link') ?? '')?.[1]
    if (link === undefined) return null
    const base = new URL(page.running.url)
    const next = URL.canParse(link, base.href) ? new URL(link, base.href) : null
    if (next?.origin !== base.origin || !next.pathname.endsWith(PATH)) {
      throw this.#transport.invalid(page, 'has a link to a place outside the export')
    }
    const query = Object.fromEntries(next.searchParams)
    if (search(query) === search(page.running.call.query ?? {})) {
      throw this.#transport.invalid(page, 'has itself as its next page')
    }
    return query
  }
}

/** Compliance data. */
export class Compliance {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Exports compliance data. If the gateway prunes entries during the export, iterating throws a ConflictError. Then
   * start the export again.
   *
   * ```ts
   * for await (const line of postern.compliance.export({ type: 'audit' }).lines()) file.write(`${line}\n`)
   * ```
   */
  export(params: ExportParams = {}, options: CallOptions = {}): ComplianceExport {
    return new ComplianceExport(this.#transport, params, options)
  }

  /** Gets the inventory of models as a bill of materials. */
  bom(options: CallOptions = {}): APIPromise<BillOfMaterials> {
    const call = { method: 'GET' as const, path: PATH, query: { type: 'inventory', format: 'cyclonedx' } }
    return this.#transport.json<BillOfMaterials>(call, options)
  }

  /** Gets a summary: the Governor's checks, the registry, open violations, and the chains of events. */
  summary(options: CallOptions = {}): APIPromise<ComplianceSummary> {
    const call = { method: 'GET' as const, path: '/api/compliance/summary' }
    return this.#transport.json<ComplianceSummary>(call, options)
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
