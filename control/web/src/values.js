// What forms and the API call the same things.

export const BUDGET_PERIODS = [
  ['month', 'Calendar month (UTC)'],
  ['week', 'ISO week (UTC)'],
  ['day', 'Day (UTC)'],
]

export const KINDS = [
  ['gateway', 'Gateway (sk_): completions'],
  ['project', 'Project (pk_): usage and management'],
]

export const ENVIRONMENTS = [
  ['production', 'Production'],
  ['development', 'Development: test mode, free'],
]

const PERMISSIONS = [
  ['completions', 'Completions'],
  ['embeddings', 'Embeddings'],
  ['models', 'List of models'],
  ['usage', 'Usage'],
]

/** A key's permissions are at most those of its kind. */
export function permissionsOf(kind) {
  return kind === 'gateway' ? PERMISSIONS : PERMISSIONS.filter(([name]) => name === 'models' || name === 'usage')
}

export const LIMITS = [
  ['requestsPerSecond', 'Requests per second'],
  ['requestsPerDay', 'Requests per day'],
  ['tokensPerMinute', 'Tokens per minute'],
]

export const STRATEGIES = [
  ['ordered', 'In this order'],
  ['weighted', 'By weight'],
  ['cheapest', 'Cheapest first'],
  ['fastest', 'Fastest first'],
]

const THOUSANDS = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/

/**
 * A number as somebody typed it: $1,000 and 1000 are the same. What is no number is sent as it is, so that the
 * server says what is wrong with it; so is 2,50, which nobody writes for 250.
 */
export function numberOf(text) {
  const typed = text.trim().replace(/^\$/, '')
  const plain = THOUSANDS.test(typed) ? typed.replaceAll(',', '') : typed
  const number = Number(plain)
  return plain === '' || Number.isNaN(number) ? text : number
}

/** The same for a field that may be left empty: null. */
export function numberOrNull(text) {
  return text.trim() === '' ? null : numberOf(text)
}

/** Whether two JSON values are the same. */
export function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b)
}
