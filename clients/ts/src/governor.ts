// Checks of texts against the project's policy: POST /api/governor/validate.
import type { Message, Verdict } from './ai.js'
import type { Finding } from './errors.js'
import type { CallOptions } from './options.js'
import type { APIPromise } from './promise.js'
import { checkParams } from './request.js'
import type { Transport } from './transport.js'

/** The direction whose actions apply: `input` for requests from a caller, `output` for responses from a model. */
export interface Direction {
  /** Default `input`. */
  direction?: 'input' | 'output' | undefined
}

/** The Governor's decision about one text or conversation. */
export interface TextValidation<Redacted = string> extends Verdict {
  /** Whether the decision is `approve`. */
  approved: boolean
  /** At most 100. */
  findings: Finding[]
  /** The text or the messages with placeholders; null if the policy redacts nothing. */
  redacted: Redacted | null
}

/** The fields that all validations have. */
export interface Validation {
  /** Version of the project's policy; 0 if it has none. */
  policyVersion: number
  requestId: string
}

/** The Governor. */
export class Governor {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Checks a text, up to 100 texts, or a conversation against the project's policy. Does not call a provider, stores
   * nothing, and counts as one request.
   *
   * ```ts
   * const { approved, findings } = await postern.governor.validate({ text: 'Mail me at jane.doe@example.com' })
   * ```
   */
  validate(params: { text: string } & Direction, options?: CallOptions): APIPromise<TextValidation & Validation>
  validate(
    params: { texts: readonly string[] } & Direction,
    options?: CallOptions,
  ): APIPromise<{ results: TextValidation[] } & Validation>
  validate(
    params: { messages: readonly Message[] } & Direction,
    options?: CallOptions,
  ): APIPromise<TextValidation<Message[]> & Validation>
  validate(params: object, options: CallOptions = {}): APIPromise<never> {
    const call = () => {
      checkParams(params)
      return { method: 'POST' as const, path: '/api/governor/validate', body: params, governed: true }
    }
    return this.#transport.json<never>(call, options)
  }
}
