// Errors of the AI SDK that also have what Postern knows.
import { APICallError } from '@ai-sdk/provider'
import { type APIError, errorOfV1, type Finding } from '@postern-ai/client/adapter'
import type { Settings } from './settings.js'

/**
 * A failed call. An `APICallError` for the AI SDK; `cause` is the client's error, such as `BudgetExceededError`. Neither
 * its JSON nor its printed form has the prompt.
 */
export class PosternCallError extends APICallError {
  /** Postern's code, such as `budget_exceeded`; null if the answer was not Postern's. */
  readonly code: string | null
  readonly requestId: string | null
  /** What the Governor found, for the code `blocked_by_policy`. */
  readonly findings: Finding[]
  /** When the limit or the budget resets that refused the call, as an ISO date; null for other errors. */
  readonly resetsAt: string | null
  /** The attempts at providers, such as `1; openai/gpt-5.4=503`. */
  readonly attempts: string | null
  declare readonly cause: APIError

  constructor(error: APICallError, cause: APIError, isRetryable: boolean) {
    const { url, requestBodyValues, statusCode, responseHeaders, responseBody, data } = error
    const { message } = cause
    super({ message, url, requestBodyValues, statusCode, responseHeaders, responseBody, data, isRetryable, cause })
    this.code = cause.code
    this.requestId = cause.requestId
    this.findings = cause.findings
    this.resetsAt = cause.resetsAt
    this.attempts = responseHeaders?.['x-postern-attempts'] ?? null
    hidePrompt(this)
  }
}

/** An error within a stream, after its first event. */
export class PosternStreamError extends Error {
  override readonly name = 'PosternStreamError'
  readonly code: string | null
  readonly requestId: string | null
  readonly findings: Finding[]

  constructor(error: { message?: unknown; code?: unknown; findings?: unknown }, requestId: string | null) {
    super(typeof error.message === 'string' ? error.message : 'The stream failed.')
    this.code = typeof error.code === 'string' ? error.code : null
    this.requestId = requestId
    this.findings = Array.isArray(error.findings) ? error.findings : []
  }
}

/** Gives a failure of the AI SDK's transport its Postern form. `repeated`: the provider has retried it already. */
export function posternError(error: unknown, { governor }: Settings, repeated: boolean): unknown {
  if (!APICallError.isInstance(error)) return error
  hidePrompt(error)
  if (error.statusCode === undefined || error.statusCode < 300) {
    return repeated ? Object.assign(error, { isRetryable: false }) : error
  }
  const headers = new Headers(error.responseHeaders)
  const cause = errorOfV1(error.statusCode, headers, error.responseBody ?? '', governor.enabled !== false)
  const should = headers.get('x-should-retry')
  const isRetryable = should === 'true' || (should !== 'false' && error.isRetryable)
  return new PosternCallError(error, cause, isRetryable && !repeated)
}

function hidePrompt(error: APICallError): void {
  Object.defineProperty(error, 'requestBodyValues', { enumerable: false })
}
