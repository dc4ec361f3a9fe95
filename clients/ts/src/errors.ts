// The errors of the client. All are PosternErrors. Each HTTP status that the gateway documents has a class.

import type { Completion } from './ai.js'
import type { Attempts } from './meta.js'
import type { Issue } from './schema.js'

/** A problem with one field of a request. */
export interface Problem {
  /** A field such as `temperature` or `messages[2].role`, a header, a query parameter, `path`, `method` or `body`. */
  field: string
  /** Continues a sentence that starts with the field: `must be a number between 0 and 2, got 3`. */
  message: string
}

/** A place in a checked text. It never contains the text. */
export interface Finding {
  /** Name of the rule, such as `personal.email`. */
  rule: string
  category: string
  severity: 'low' | 'medium' | 'high' | 'critical'
  action: 'flag' | 'redact' | 'block'
  /** Path of the text in the JSON body, such as `messages[2].content`. */
  path: string
  /** Offset of the finding's first byte in the decoded text, in UTF-8. */
  start: number
  /** Offset of the first byte after the finding. */
  end: number
}

/** The budget that refused a request. */
export interface ExceededBudget {
  /** Whose budget it is. `deployment`: that of the whole gateway. */
  level: 'key' | 'project' | 'group' | 'deployment'
  /** ID of the key, the project or the group; `root` for the deployment. */
  id: string
  /** Name of the group or the deployment; null if it is hidden, and for keys and projects. */
  name: string | null
  unit: 'dollars' | 'requests' | 'tokens'
  /** `total`: prepaid. The budget does not reset. */
  period: 'day' | 'week' | 'month' | 'total'
  /** When the budget resets, as an ISO date; null if it does not reset. */
  resetsAt: string | null
}

/** The base of all errors of this package. No error contains the API key, the headers sent or the prompt. */
export class PosternError extends Error {
  static {
    PosternError.prototype.name = 'PosternError'
  }

  /** The error's own fields, as plain JSON for logs. */
  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message }
  }
}

/** An option, a variable or an argument is missing or invalid. Nothing was sent. */
export class ConfigurationError extends PosternError {
  static {
    ConfigurationError.prototype.name = 'ConfigurationError'
  }
}

/** No usable response arrived: the connection could not be made, or broke. `cause` is the transport's error. */
export class APIConnectionError extends PosternError {
  static {
    APIConnectionError.prototype.name = 'APIConnectionError'
  }
}

/** The response did not arrive within `timeout`. */
export class APITimeoutError extends APIConnectionError {
  static {
    APITimeoutError.prototype.name = 'APITimeoutError'
  }
}

/** The caller aborted the call. `cause` is the signal's reason. */
export class APIAbortedError extends PosternError {
  static {
    APIAbortedError.prototype.name = 'APIAbortedError'
  }
}

/** A successful response is not as the API promises: it is not JSON, has another shape, or is larger than 64 MiB. */
export class InvalidResponseError extends PosternError {
  static {
    InvalidResponseError.prototype.name = 'InvalidResponseError'
  }

  /** The HTTP status. */
  readonly status: number
  readonly requestId: string | null

  constructor(message: string, fields: { status: number; requestId: string | null }) {
    super(message)
    this.status = fields.status
    this.requestId = fields.requestId
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), status: this.status, requestId: this.requestId }
  }
}

/** The model's output is not JSON, or the schema rejects it. The completion was charged and is in `completion`. */
export class OutputValidationError extends PosternError {
  static {
    OutputValidationError.prototype.name = 'OutputValidationError'
  }

  /** The problems that the validator found. */
  readonly issues: Issue[]
  /** The model's output. */
  readonly text: string
  readonly completion: Completion

  constructor(message: string, fields: { issues: Issue[]; completion: Completion }) {
    super(message)
    this.issues = fields.issues
    this.completion = fields.completion
    this.text = fields.completion.text
  }

  /** Leaves out the output, which may be confidential. */
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), issues: this.issues, requestId: this.completion.meta.requestId }
  }
}

/** A stream failed after its start. The stream's reader receives this error after the events that preceded it. */
export class StreamError extends PosternError {
  static {
    StreamError.prototype.name = 'StreamError'
  }

  /**
   * The gateway's code, such as `provider_error`, or one of the client's codes: `incomplete_stream`,
   * `connection_lost`, `idle_timeout`, `invalid_event` or `event_too_large`.
   */
  readonly code: string
  readonly requestId: string | null
  /** The Governor's findings, if it ended the stream. */
  readonly findings: Finding[]
  /** The text that had arrived before the failure. */
  readonly text: string

  constructor(
    message: string,
    fields: { code: string; requestId: string | null; findings?: Finding[]; text: string; cause?: unknown },
  ) {
    super(message, 'cause' in fields ? { cause: fields.cause } : undefined)
    this.code = fields.code
    this.requestId = fields.requestId
    this.findings = fields.findings ?? []
    this.text = fields.text
  }

  /** Leaves out the text, which may be confidential. */
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), code: this.code, requestId: this.requestId, findings: this.findings }
  }
}

/**
 * A webhook was not sent by the gateway, or its time is outside the tolerance. The error contains neither the secret
 * nor the body.
 */
export class WebhookVerificationError extends PosternError {
  static {
    WebhookVerificationError.prototype.name = 'WebhookVerificationError'
  }

  /**
   * The problem. `invalid_signature`: the delivery was signed with another secret or has another body.
   * `invalid_payload`: the body is not an event, or is larger than 1 MiB.
   */
  readonly code:
    | 'missing_header'
    | 'invalid_timestamp'
    | 'timestamp_out_of_tolerance'
    | 'invalid_signature'
    | 'invalid_payload'

  constructor(message: string, fields: { code: WebhookVerificationError['code'] }) {
    super(message)
    this.code = fields.code
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), code: this.code }
  }
}

/** The parts of an APIError. */
export interface APIErrorFields {
  text: string
  status: number
  code: string | null
  requestId: string | null
  details: Problem[]
  findings: Finding[]
  attempts: Attempts | null
  headers: Headers
  retryAfterMs: number | null
  resetsAt: string | null
  budget: ExceededBudget | null
}

/**
 * The gateway responded with an error. `message` is the gateway's text with the first problem or finding, followed by
 * the status, code and request ID in parentheses. Programs should branch on `code`.
 */
export class APIError extends PosternError {
  static {
    APIError.prototype.name = 'APIError'
  }

  /** The gateway's own text. If the response is not the API's JSON, it is the status, such as `HTTP 502`. */
  readonly text: string
  /** The HTTP status. */
  readonly status: number
  /** The gateway's code, such as `budget_exceeded`; null if the response has none. */
  readonly code: string | null
  /** The request ID, as in the gateway's logs. */
  readonly requestId: string | null
  /** Problems with the request's fields, at most 20. */
  readonly details: Problem[]
  /** The Governor's findings, at most 100. */
  readonly findings: Finding[]
  /** The gateway's requests to providers; null if it sent none. */
  readonly attempts: Attempts | null
  /** When the exceeded limit or budget resets, as an ISO date; null for other errors. */
  readonly resetsAt: string | null
  /**
   * The budget, or the limit per budget period, that refused the request. Of several, it is the one that resets last.
   * Null for other errors.
   */
  readonly budget: ExceededBudget | null
  /** The response's headers. */
  readonly headers: Headers

  constructor(message: string, fields: APIErrorFields) {
    super(message)
    this.text = fields.text
    this.status = fields.status
    this.code = fields.code
    this.requestId = fields.requestId
    this.details = fields.details
    this.findings = fields.findings
    this.attempts = fields.attempts
    this.resetsAt = fields.resetsAt
    this.budget = fields.budget
    this.headers = fields.headers
  }

  override toJSON(): Record<string, unknown> {
    const { status, code, requestId, details, findings, attempts, resetsAt, budget } = this
    return { ...super.toJSON(), status, code, requestId, details, findings, attempts, resetsAt, budget }
  }
}

/** 400: the request is invalid. `details` lists the problems. */
export class BadRequestError extends APIError {
  static {
    BadRequestError.prototype.name = 'BadRequestError'
  }
}

/** 401: the API key is missing, unknown, inactive or expired. */
export class AuthenticationError extends APIError {
  static {
    AuthenticationError.prototype.name = 'AuthenticationError'
  }
}

/**
 * 402: a budget of the key, its project, a group or the deployment cannot cover the request. Nothing was sent to a
 * provider.
 */
export class BudgetExceededError extends APIError {
  static {
    BudgetExceededError.prototype.name = 'BudgetExceededError'
  }
}

/** 403: the API key lacks the permission, or does not allow the model. */
export class PermissionDeniedError extends APIError {
  static {
    PermissionDeniedError.prototype.name = 'PermissionDeniedError'
  }
}

/** 404: the object, the model or the tier does not exist. */
export class NotFoundError extends APIError {
  static {
    NotFoundError.prototype.name = 'NotFoundError'
  }
}

/**
 * 409: another request changed the object, or an earlier request with the same idempotency key is still in progress
 * or has an unknown outcome.
 */
export class ConflictError extends APIError {
  static {
    ConflictError.prototype.name = 'ConflictError'
  }
}

/** 413: the request's body is too large. */
export class RequestTooLargeError extends APIError {
  static {
    RequestTooLargeError.prototype.name = 'RequestTooLargeError'
  }
}

/** 422: the idempotency key was used with another body, or the Governor blocked the call (see BlockedByPolicyError). */
export class UnprocessableEntityError extends APIError {
  static {
    UnprocessableEntityError.prototype.name = 'UnprocessableEntityError'
  }
}

/** 422 with the code `blocked_by_policy`: the Governor blocked the request or the response. See `findings`. */
export class BlockedByPolicyError extends UnprocessableEntityError {
  static {
    BlockedByPolicyError.prototype.name = 'BlockedByPolicyError'
  }
}

/** 429: one of the key's limits is exhausted. */
export class RateLimitError extends APIError {
  static {
    RateLimitError.prototype.name = 'RateLimitError'
  }

  /** Milliseconds until more requests are allowed; null if unknown. */
  readonly retryAfterMs: number | null

  constructor(message: string, fields: APIErrorFields) {
    super(message, fields)
    this.retryAfterMs = fields.retryAfterMs
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), retryAfterMs: this.retryAfterMs }
  }
}

/** 500 and above: the gateway or a provider failed. */
export class InternalServerError extends APIError {
  static {
    InternalServerError.prototype.name = 'InternalServerError'
  }
}
