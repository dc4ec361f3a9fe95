// Verifies the signatures of the gateway's webhooks, as described by Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
import { ConfigurationError, WebhookVerificationError } from './errors.js'
import { isObject, parsed } from './json.js'
import { onlyKnown } from './options.js'
import { variable } from './runtime.js'
import type { Violation } from './violations.js'

/** The fields that all events have. */
export interface WebhookEventFields {
  /** ID of the event, the same in repeated deliveries. */
  id: string
  /** ISO 8601. */
  timestamp: string
}

/** A project or a group has used 80% or 100% of its budget. Sent once per threshold in each budget period. */
export interface BudgetThresholdEvent extends WebhookEventFields {
  type: 'budget.threshold'
  data: {
    /** Null for a group and the deployment. */
    projectId: string | null
    /** The group or the deployment. Not set for a project. */
    node?: { level: 'key' | 'group' | 'deployment'; id: string; name: string }
    thresholdPercent: 80 | 100
    /** `limit` and `used` are in dollars. Times are ISO 8601, and the end is exclusive. A budget that never resets has none. */
    budget: { limit: number; used: number; start: string | null; end: string | null }
  }
}

/** New violations in a project. Sent at most once a minute. */
export interface ViolationCreatedEvent extends WebhookEventFields {
  type: 'violation.created'
  data: {
    projectId: string
    /** Number of new violations. */
    count: number
    /** The most severe one. */
    violation: Violation
  }
}

/** A signed statement about a chain of the compliance data. It covers all entries up to `seq`. */
export interface Checkpoint {
  /** The project's ID. */
  project: string
  object: 'directory' | 'ledger'
  seq: number
  /** SHA-256 of the entry, in hexadecimal. */
  hash: string
  /** ISO 8601. */
  time: string
  reason: 'daily' | 'export' | 'prune'
  keyId: string
  /** Ed25519, in base64. */
  signature: string
}

/** A new checkpoint of the compliance data. */
export interface ComplianceCheckpointEvent extends WebhookEventFields {
  type: 'compliance.checkpoint'
  data: Checkpoint
}

/**
 * The type of all other strings. It is not `string`, because a comparison of `type` with a known type would then not
 * narrow `data`. It has no value at run time.
 */
declare enum OtherType {
  Any = 'any other text',
}

/** An event of a type that this version does not know. */
export interface OtherWebhookEvent extends WebhookEventFields {
  /** Any other string. To compare it, use a cast: `(event.type as string) === 'new.type'`. */
  type: OtherType
  data: Record<string, unknown>
}

/** An event that a webhook delivers. */
export type WebhookEvent = BudgetThresholdEvent | ViolationCreatedEvent | ComplianceCheckpointEvent | OtherWebhookEvent

/** Headers of a delivery, from a `Request` or from Node.js, with names in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** Options of a verification. */
export interface WebhookOptions {
  /**
   * The secret from the project's settings, or several secrets. The delivery may be signed with any of them. Several
   * secrets can also be one string, separated by spaces or commas. Variable `POSTERN_WEBHOOK_SECRET`.
   */
  secret?: string | readonly string[] | undefined
  /** How far a delivery's time may be from the current time, in milliseconds. Default 300000. */
  toleranceMs?: number | undefined
}

const MAX_BODY_BYTES = 1024 * 1024
const MAX_SIGNATURES = 16
/** Source: the specification's section on secrets. */
const MIN_SECRET_BYTES = 24

/**
 * Verifies a delivery and returns its event. `body` is the text or the bytes as they arrived, before any JSON parser.
 * Throws a WebhookVerificationError if the gateway did not send the delivery, or if its time is outside the
 * tolerance. Throws a ConfigurationError if there is no usable secret.
 *
 * ```ts
 * const event = await verifyWebhook(await request.text(), request.headers)
 * if (event.type === 'budget.threshold') console.log(event.data.budget.used)
 * ```
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  options: WebhookOptions = {},
): Promise<WebhookEvent> {
  const { secrets, toleranceMs } = checked(options)
  const bytes = bytesOf(body)
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string]
  checkTime(timestamp, toleranceMs)
  if (bytes.length > MAX_BODY_BYTES) throw refused('invalid_payload', 'The body is larger than 1 MiB')
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  if (!(await isSigned(signed, signature, secrets))) {
    throw refused('invalid_signature', 'No signature fits: the secret is another one, or the body was changed')
  }
  const event = parsed(new TextDecoder().decode(bytes))
  if (!isObject(event) || typeof event.type !== 'string') throw refused('invalid_payload', 'The body is no event')
  return event as unknown as WebhookEvent
}

function checked(options: WebhookOptions): { secrets: Uint8Array<ArrayBuffer>[]; toleranceMs: number } {
  onlyKnown(options, ['secret', 'toleranceMs'], '')
  const { secret, toleranceMs = 300_000 } = options
  if (!Number.isInteger(toleranceMs) || toleranceMs < 0)
    throw new ConfigurationError('toleranceMs must be an integer of 0 or more')
  const given: unknown[] = [secret ?? variable('POSTERN_WEBHOOK_SECRET') ?? []].flat()
  const split = given.flatMap((text) => (typeof text === 'string' ? text.split(/[\s,]+/) : [text]))
  const secrets = split.filter((text) => text !== '')
  if (secrets.length === 0)
    throw new ConfigurationError('No secret: set the option secret or the variable POSTERN_WEBHOOK_SECRET')
  return { secrets: secrets.map(secretOf), toleranceMs }
}

/** The bytes of a secret. An error does not contain the secret. */
function secretOf(given: unknown): Uint8Array<ArrayBuffer> {
  const bytes = typeof given === 'string' ? decoded(given.replace(/^whsec_/, '')) : null
  if (!bytes || bytes.length < MIN_SECRET_BYTES) {
    throw new ConfigurationError('The secret of a webhook must be whsec_ and at least 24 bytes in base64')
  }
  return bytes
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  throw new ConfigurationError('body must be the text or the bytes as they arrived, before any JSON parser')
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (!isObject(headers)) throw new ConfigurationError('headers must be an object')
  const value = isHeaders(headers) ? headers.get(name) : memberOf(headers, name)
  if (!value) throw refused('missing_header', `The header ${name} is missing`)
  return value
}

/** Accepts another library's headers, too. */
function isHeaders(headers: object): headers is Headers {
  return 'get' in headers && typeof headers.get === 'function'
}

function memberOf(headers: Record<string, unknown>, name: string): string {
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : Array.isArray(found) ? found.join(' ') : ''
}

function checkTime(timestamp: string, toleranceMs: number): void {
  const ms = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : null
  if (ms === null) throw refused('invalid_timestamp', 'The header webhook-timestamp is no number of seconds')
  if (Math.abs(Date.now() - ms) > toleranceMs) {
    throw refused('timestamp_out_of_tolerance', `The delivery was not sent within ${toleranceMs} ms of now`)
  }
}

/**
 * Whether one of the signatures matches one of the secrets. It compares at most 16 signatures. A genuine delivery has
 * fewer.
 */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  header: string,
  secrets: Uint8Array<ArrayBuffer>[],
): Promise<boolean> {
  // Several headers are joined with ", ": https://fetch.spec.whatwg.org/#concept-header-list-get
  const parts = header.split(' ').map((part) => part.replace(/,$/, ''))
  const versioned = parts.filter((part) => part.startsWith('v1,'))
  const given = versioned.slice(0, MAX_SIGNATURES).map((part) => decoded(part.slice('v1,'.length)))
  let fits = false
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    const expected = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))
    for (const signature of given) fits = (signature !== null && same(expected, signature)) || fits
  }
  return fits
}

/** Takes the same time wherever the bytes differ. */
function same(expected: Uint8Array, given: Uint8Array): boolean {
  let difference = expected.length ^ given.length
  for (const [i, byte] of expected.entries()) difference |= byte ^ (given[i] ?? 0)
  return difference === 0
}

/** Decodes base64; null if the text is not base64. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]+=*$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

function refused(code: WebhookVerificationError['code'], message: string): WebhookVerificationError {
  return new WebhookVerificationError(message, { code })
}
