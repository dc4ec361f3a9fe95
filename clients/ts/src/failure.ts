// Maps an error response to its class and its message.
import {
  APIError,
  type APIErrorFields,
  AuthenticationError,
  BadRequestError,
  BlockedByPolicyError,
  BudgetExceededError,
  ConflictError,
  type ExceededBudget,
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

/** The request that led to an error response, for the error's message. */
export interface Sent {
  url: string
  /** After the base URL. */
  path: string
  baseURL: string
  apiKey: string
}

/**
 * The error for a response with any body. If `governed` is true, the error for a blocked request is a
 * BlockedByPolicyError. Without `sent`, the message has less detail.
 */
export function errorOf(status: number, headers: Headers, text: string, governed: boolean, sent?: Sent): APIError {
  const value = parsed(text)
  const body = isObject(value) ? (textOf(value.request_id) ? flat(value) : value) : {}
  const code = textOf(body.code)
  const blocked = governed && status === 422 && code === 'blocked_by_policy'
  const Class = blocked ? BlockedByPolicyError : (CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError))
  const fields = {
    text: textOf(body.error) ?? `HTTP ${status}`,
    status,
    code,
    requestId: textOf(body.requestId) ?? headers.get('x-request-id'),
    details: listOf<Problem>(body.details),
    findings: listOf<Finding>(body.findings),
    attempts: attemptsOf(headers),
    headers,
    retryAfterMs: serverPauseMs(headers, Date.now()),
    resetsAt: textOf(body.resetsAt),
    budget: budgetOf(body.budget),
  }
  return new Class(textOf(body.error) === null ? foreignText(fields, sent) : nativeText(fields, sent), fields)
}

function budgetOf(value: unknown): ExceededBudget | null {
  return isObject(value)
    ? ({ ...value, name: textOf(value.name), resetsAt: textOf(value.resetsAt) } as ExceededBudget)
    : null
}

/**
 * The fields of an error under /v1, in OpenAI's or Anthropic's format: `{error: {message, code, param, …},
 * request_id}`. Only the gateway adds a `request_id` next to the error.
 */
export function flat(body: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(body.error)) return body
  const { message, code, findings, param, resetsAt, budget } = body.error
  const details = typeof param === 'string' ? [{ field: param, message }] : []
  return { error: message, code, findings, details, resetsAt, budget, requestId: body.request_id }
}

/** The message of an API error. */
function nativeText(fields: APIErrorFields, sent: Sent | undefined): string {
  const { text, status, code, requestId } = fields
  return text + firstOf(fields) + (sent ? keyHint(fields, sent) : '') + inParentheses([status, code, requestId])
}

/** The message for any other response, such as a proxy's. */
function foreignText({ text, status, requestId, headers }: APIErrorFields, sent: Sent | undefined): string {
  const from = sent ? fromWhere(sent, status === 404 || isPage(headers)) : ''
  return text + from + inParentheses([requestId])
}

/** Whether a response is meant for people, such as a proxy's or a sign-in page. */
export function isPage(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/html') ?? false
}

/**
 * Returns ` from ` and the URL without its query. If `asks` is true and the base URL ends in one of the gateway's
 * paths, a question follows.
 */
export function fromWhere({ url, baseURL }: Pick<Sent, 'url' | 'baseURL'>, asks: boolean): string {
  const wrong = /\/(api|dashboard)$/.exec(baseURL)?.[0]
  const hint = asks && wrong ? `: is the base URL the gateway's address, without ${wrong}?` : ''
  return ` from ${url.replace(/\?.*/, '')}${hint}`
}

/**
 * The first problem or finding, and how many more there are. In OpenAI's error format, the message also occurs as a
 * problem.
 */
function firstOf({ text, details, findings }: APIErrorFields): string {
  const problems = details.filter((problem) => textOf(problem?.message) !== null && problem.message !== text)
  const whole = (finding: Finding) => [finding?.path, finding?.rule, finding?.severity].every((part) => textOf(part))
  const found = findings.filter(whole)
  const all = [
    ...problems.map(({ field, message }) => (textOf(field) ? `${field}: ${message}` : message)),
    ...(problems.length > 0 ? [] : found.map(({ path, rule, severity }) => `${path} contains ${rule} (${severity})`)),
  ]
  // In OpenAI's format, the message already contains the first finding.
  return all[0] && !text.includes(all[0]) ? `: ${all[0]}${andMore(all.length)}` : ''
}

/** ` (and 2 more)`, for a list whose first item is shown. */
export function andMore(count: number): string {
  return count > 1 ? ` (and ${count - 1} more)` : ''
}

function inParentheses(values: (number | string | null)[]): string {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? ` (${known.join(', ')})` : ''
}

/** The kind of key that the call needs, if another kind was sent. */
function keyHint({ status, code }: APIErrorFields, { path, apiKey }: Sent): string {
  if (status !== 403 || code !== 'insufficient_permissions') return ''
  if (/^\/api\/(ai|governor)\//.test(path) && apiKey.startsWith('pk_')) return '; this call needs a gateway key (sk_…)'
  const forProject = /^\/api\/(violations|models-registry|compliance)\b/.test(path)
  return forProject && apiKey.startsWith('sk_') ? '; this call needs a project key (pk_…)' : ''
}

function listOf<T>(value: unknown): T[] {
  return Array.isArray(value) ? value : []
}
