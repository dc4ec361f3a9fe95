// AI SDK errors that also carry Postern's information.
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import {
  APIConnectionError,
  APIError,
  type ExceededBudget,
  errorOfV1,
  type Finding,
  InvalidResponseError,
  type ResponseMeta,
} from '@postern-ai/client/adapter'
import type { Settings } from './settings.js'

type Cause = APIError | APIConnectionError | InvalidResponseError

/**
 * A failed call. The AI SDK treats it as an `APICallError`. `cause` is the client's error, such as
 * `BudgetExceededError` or `APIConnectionError`. The prompt is neither in the error's JSON nor in its printed form.
 */
export class PosternCallError extends APICallError {
  /**
   * Postern's code, such as `budget_exceeded`. If no complete response arrived, it is `connection_lost`. If the
   * response has an unexpected shape, it is `invalid_response`. If the error is not from Postern, it is null.
   */
  readonly code: string | null
  readonly requestId: string | null
  /** The Governor's findings, for the code `blocked_by_policy`. */
  readonly findings: Finding[]
  /** When the exceeded limit or budget resets, as an ISO date; null for other errors. */
  readonly resetsAt: string | null
  /** The budget that refused the call; null for other errors. */
  readonly budget: ExceededBudget | null
  /** The gateway's requests to providers and their results, such as `1; openai/gpt-5.4=503`. */
  readonly attempts: string | null
  declare readonly cause: Cause

  constructor(error: APICallError, cause: Cause, isRetryable: boolean) {
    const { url, requestBodyValues, statusCode, responseHeaders, responseBody, data } = error
    const { message } = cause
    super({ message, url, requestBodyValues, statusCode, responseHeaders, responseBody, data, isRetryable, cause })
    const answer = cause instanceof APIError ? cause : null
    this.code = answer ? answer.code : cause instanceof InvalidResponseError ? 'invalid_response' : 'connection_lost'
    this.requestId = answer ? answer.requestId : (responseHeaders?.['x-request-id'] ?? null)
    this.findings = answer?.findings ?? []
    this.resetsAt = answer?.resetsAt ?? null
    this.budget = answer?.budget ?? null
    this.attempts = responseHeaders?.['x-postern-attempts'] ?? null
    hidePrompt(this)
  }
}

/** An error in a stream, after its first event. */
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

/**
 * Converts a failure of the AI SDK's transport to a Postern error. If `repeated` is true, the provider has already
 * retried the request.
 */
export function posternError(error: unknown, { governor }: Settings, repeated: boolean): unknown {
  if (!APICallError.isInstance(error)) return error
  hidePrompt(error)
  const { statusCode: status = 0, responseBody = '' } = error
  const headers = new Headers(error.responseHeaders)
  const answered = status >= 300
  const cause = answered ? errorOfV1(status, headers, responseBody, governor.enabled !== false) : noAnswer(error)
  const should = headers.get('x-should-retry')
  const isRetryable = should === 'true' || (should !== 'false' && error.isRetryable)
  return new PosternCallError(error, cause, isRetryable && !repeated)
}

/** The client's error for a call without a response, or with an incomplete one. */
function noAnswer({ cause, statusCode: status, responseHeaders }: APICallError): Cause {
  if (status === undefined || !isMalformed(cause)) return new APIConnectionError('The connection was lost', { cause })
  const requestId = responseHeaders?.['x-request-id'] ?? null
  return new InvalidResponseError('The response is not as described', { status, requestId })
}

/**
 * Converts an error within a stream to a Postern error. An error event from Postern arrives as a plain object. All
 * other errors come from the AI SDK's reading of the stream.
 */
export function streamError(error: unknown, meta: ResponseMeta): PosternStreamError {
  if (error instanceof PosternStreamError) return error
  if (!(error instanceof Error)) return new PosternStreamError(error ?? {}, meta.requestId)
  if (InvalidResponseDataError.isInstance(error))
    return broken('incomplete_stream', 'The stream is incomplete', error, meta)
  if (isMalformed(error)) return broken('invalid_event', 'An event of the stream is not as described', error, meta)
  return broken('connection_lost', 'The connection was lost', error, meta)
}

function broken(code: string, message: string, cause: Error, { requestId }: ResponseMeta): PosternStreamError {
  return Object.defineProperty(new PosternStreamError({ message, code }, requestId), 'cause', { value: cause })
}

function isMalformed(error: unknown): boolean {
  return JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)
}

function hidePrompt(error: APICallError): void {
  Object.defineProperty(error, 'requestBodyValues', { enumerable: false })
}
