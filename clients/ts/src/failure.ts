// From an error response to its class.
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  BlockedByPolicyError,
  BudgetExceededError,
  ConflictError,
  type Finding,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  type Problem,
  RateLimitError,
  RequestTooLargeError,
  UnprocessableEntityError,
} from './errors.js'
import { isObject, parsed, textOf } from './json.js'
import { attemptsOf } from './meta.js'
import { serverPauseMs } from './retry.js'

const CLASSES: Record<number, typeof APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: BudgetExceededError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: RequestTooLargeError,
  422: UnprocessableEntityError,
  429: RateLimitError,
}

/** The error of a response. Its body may be anything; `governed` makes a blocked request a BlockedByPolicyError. */
export function errorOf(status: number, headers: Headers, text: string, governed: boolean): APIError {
  const value = parsed(text)
  const body = isObject(value) ? value : {}
  const code = textOf(body.code)
  const blocked = governed && status === 422 && code === 'blocked_by_policy'
  const Class = blocked ? BlockedByPolicyError : (CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError))
  return new Class(textOf(body.error) ?? `HTTP ${status}`, {
    status,
    code,
    requestId: textOf(body.requestId) ?? headers.get('x-request-id'),
    details: listOf<Problem>(body.details),
    findings: listOf<Finding>(body.findings),
    attempts: attemptsOf(headers),
    headers,
    retryAfterMs: serverPauseMs(headers, Date.now()),
  })
}

function listOf<T>(value: unknown): T[] {
  return Array.isArray(value) ? value : []
}
