// The gateway's metadata about a response, from its headers. docs/openapi.yaml describes each header.
import { httpDate } from './date.js'

/** The gateway's requests to providers. */
export interface Attempts {
  /** Number of requests. 0 for a cached response or a development key. */
  count: number
  /** Each target that was tried, in order, with its result: an HTTP status, `timeout` or another failure. */
  targets: { target: string; result: string }[]
}

/** The model is deprecated in the project's registry. */
export interface Deprecation {
  /** When the model was deprecated, as an ISO 8601 time. */
  at: string | null
  /** When the model will be retired, as an ISO 8601 time. */
  sunset: string | null
  /** The model to use instead. */
  successor: string | null
}

/** The Governor's decision about the request. */
export interface GovernorDecision {
  decision: 'approve' | 'review' | 'block'
  /** 0 to 100. */
  riskScore: number
  policyVersion: number
  /** The kinds of content that could not be checked. */
  unchecked: string[]
}

/** The key's rate limits after this request. */
export interface RateLimit {
  /** Remaining requests in the window that has the fewest left. */
  limitRequests: number | null
  remainingRequests: number | null
  /** Seconds until more requests are allowed. */
  resetRequests: number | null
  /** Tokens per minute. */
  limitTokens: number | null
  remainingTokens: number | null
  /** Seconds until more tokens are available. */
  resetTokens: number | null
}

/** The gateway's metadata about a response. A value that the response does not have is null. */
export interface ResponseMeta {
  /** The request ID, as in the gateway's logs. */
  requestId: string | null
  /** The provider that served the request; `mock` for development keys. */
  provider: string | null
  /** The model that served the request. */
  model: string | null
  /** `hit` (served from the cache), `miss` (not in the cache) or `bypass` (the cache was not read). */
  cache: 'hit' | 'miss' | 'bypass' | null
  /** Cost in cents. Null for a stream that is not served from the cache; its `usage()` has the cost at the end. */
  costCents: number | null
  /** Version of the price list. */
  priceVersion: string | null
  attempts: Attempts | null
  /** Parameters that the gateway left out because the model does not support them. */
  droppedParams: string[]
  /** The output limit in tokens that the gateway set because the request had none. */
  maxTokens: number | null
  deprecation: Deprecation | null
  /** State of the model in the project's registry, if an enforced registry would refuse the model. */
  registryWarning: 'unregistered' | 'pending' | 'restricted' | 'deprecated' | null
  governor: GovernorDecision | null
  /** Whether this is the stored response of an earlier request with the same idempotency key. */
  replayed: boolean
  rateLimit: RateLimit | null
}

/** Reads the headers of a response. */
export function metaOf(headers: Headers): ResponseMeta {
  return {
    requestId: headers.get('x-request-id'),
    provider: headers.get('x-postern-provider'),
    model: headers.get('x-postern-model'),
    cache: headers.get('x-postern-cache') as ResponseMeta['cache'],
    costCents: numberOf(headers, 'x-postern-cost-cents'),
    priceVersion: headers.get('x-postern-price-version'),
    attempts: attemptsOf(headers),
    droppedParams: listOf(headers.get('x-postern-dropped-params'), ','),
    maxTokens: numberOf(headers, 'x-postern-max-tokens'),
    deprecation: deprecationOf(headers),
    registryWarning: headers.get('x-postern-registry') as ResponseMeta['registryWarning'],
    governor: governorOf(headers),
    replayed: headers.get('idempotent-replayed') === 'true',
    rateLimit: rateLimitOf(headers),
  }
}

/** `2; openai/gpt-4.1=503, gemini/gemini-2.5-flash=200`, or only the number. */
export function attemptsOf(headers: Headers): Attempts | null {
  const match = /^(\d+)(?:; *(.*))?$/.exec(headers.get('x-postern-attempts') ?? '')
  if (!match) return null
  const targets = listOf(match[2] ?? null, ',').map((entry) => {
    const end = entry.lastIndexOf('=')
    return { target: entry.slice(0, end), result: entry.slice(end + 1) }
  })
  return { count: Number(match[1]), targets }
}

/** Deprecation is `@` and Unix seconds (RFC 9745); Sunset is an HTTP date (RFC 8594). */
function deprecationOf(headers: Headers): Deprecation | null {
  const deprecation = headers.get('deprecation')
  const sunset = headers.get('sunset')
  if (deprecation === null && sunset === null) return null
  const at = /^@(\d+)$/.exec(deprecation ?? '')
  return {
    at: at ? timeOf(Number(at[1]) * 1000) : null,
    sunset: timeOf(httpDate(sunset)),
    successor: headers.get('x-postern-successor'),
  }
}

/** `approve; risk=5; policy=7; unchecked=image+audio`. */
function governorOf(headers: Headers): GovernorDecision | null {
  const [decision, ...fields] = listOf(headers.get('x-postern-governor'), ';')
  if (!decision) return null
  const field = (name: string) => fields.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1)
  return {
    decision: decision as GovernorDecision['decision'],
    riskScore: Number(field('risk') ?? 0),
    policyVersion: Number(field('policy') ?? 0),
    unchecked: listOf(field('unchecked') ?? null, '+'),
  }
}

function rateLimitOf(headers: Headers): RateLimit | null {
  const field = (name: string) => numberOf(headers, `x-ratelimit-${name}`)
  const limits: RateLimit = {
    limitRequests: field('limit-requests'),
    remainingRequests: field('remaining-requests'),
    resetRequests: field('reset-requests'),
    limitTokens: field('limit-tokens'),
    remainingTokens: field('remaining-tokens'),
    resetTokens: field('reset-tokens'),
  }
  return Object.values(limits).every((value) => value === null) ? null : limits
}

function numberOf(headers: Headers, name: string): number | null {
  const text = headers.get(name)
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

function timeOf(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null
}

function listOf(text: string | null, separator: string): string[] {
  return (text ?? '')
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
