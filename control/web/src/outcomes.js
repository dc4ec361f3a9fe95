// Words for what happened to requests, and for why some were not served.

/** The meaning of "requests" in all figures. */
export const REQUESTS_MEAN =
  'All requests whose key is known: served, also from the cache, refused, failed, or left by their clients.'

/** Says which requests of a project can be viewed individually. */
export const RECORDED =
  'Of served requests, a sample above 32 per key in 5 s. Requests that were not served are kept apart: at least the last 10,000, of refusals at most 20 a minute and key.'

export const OUTCOMES = [
  ['served', 'Served'],
  ['refused', 'Refused'],
  ['failed', 'Failed'],
  ['left', 'Left by the client'],
]

const LOOKS = { served: 'good', refused: 'warn', failed: 'bad', left: '' }

/** Causes in the order of the API: name, words, outcome. */
export const CAUSES = [
  ['invalid_request', 'Invalid request', 'refused'],
  ['unauthorized', 'Inactive or expired key', 'refused'],
  ['budget', 'Over the budget', 'refused'],
  ['forbidden', 'Not allowed for the key', 'refused'],
  ['not_found', 'Unknown model or path', 'refused'],
  ['method', 'Wrong method', 'refused'],
  ['conflict', 'Conflict of idempotency keys', 'refused'],
  ['too_large', 'Request too large', 'refused'],
  ['media_type', 'Unsupported media type', 'refused'],
  ['blocked', 'Blocked by the Governor', 'refused'],
  ['rate_limit', 'Over a rate limit', 'refused'],
  ['provider_rejected', 'Rejected by the provider', 'failed'],
  ['provider_busy', 'Provider over its rate limit', 'failed'],
  ['provider_unavailable', 'Provider error', 'failed'],
  ['provider_timeout', 'Provider timeout', 'failed'],
  ['provider_unreachable', 'Provider not reached', 'failed'],
  ['provider_cut', 'Response cut off by the provider', 'failed'],
  ['provider_unusable', 'Unusable response of the provider', 'failed'],
  ['gateway', 'Gateway error or missing setup', 'failed'],
  ['client_left', 'Client disconnected', 'left'],
]

/** The statuses that a request with a known key can have. */
export const STATUSES = [
  ...['2xx', '4xx', '5xx', '200', '400', '401', '402', '403', '404', '405', '409'],
  ...['413', '415', '422', '426', '429', '499', '500', '502', '503', '504'],
]

export function outcomeWords(outcome) {
  return OUTCOMES.find(([name]) => name === outcome)?.[1] ?? 'Not settled'
}

export const outcomeLook = (outcome) => LOOKS[outcome] ?? ''

/** A cause in words. @param {string | null} cause null if there is none or an older version recorded the request */
export function causeWords(cause) {
  if (!cause) return ''
  return CAUSES.find(([name]) => name === cause)?.[1] ?? cause
}

export const outcomeOf = (cause) => CAUSES.find(([name]) => name === cause)?.[2]

/** The causes of figures as [cause, count], most frequent first. @param {{causes: Record<string, number>}} outcomes */
export function causesOf({ causes }) {
  return Object.entries(causes).sort(([, a], [, b]) => b - a)
}

export const notServed = ({ refused, failed, left }) => refused + failed + left

/**
 * Words for what happened in an attempt, keyed by the attempt's result. A result is a status from the provider or a
 * word from the gateway.
 */
const RESULTS = {
  timeout: 'no answer in time',
  unreachable: 'not reached',
  broken: 'response ended early',
  too_large: 'response too large',
  shutdown: 'server shut down',
  sealed: 'stored provider key not readable',
}

export function resultWords(result) {
  const status = Number(result)
  if (status === 429) return `${result}, over its rate limit`
  if (status >= 500) return `${result}, an error of the provider`
  if (status >= 400) return `${result}, rejected`
  if (status >= 200) return `${result}, a response`
  return RESULTS[result] ?? result
}

/** What followed an attempt. @param {object[]} attempts @param {number} i */
export function followedBy(attempts, i) {
  const [tried, next] = [attempts[i], attempts[i + 1]]
  if (!next) return 'no further target'
  return next.model === tried.model && next.provider === tried.provider ? 'tried again' : `fell back to ${next.model}`
}
