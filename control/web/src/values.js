// The API's values with their labels in forms, and conversions between form text and API values.
import { typed } from './format.js'

export const BUDGET_PERIODS = [
  ['month', 'Calendar month (UTC)'],
  ['week', 'ISO week (UTC)'],
  ['day', 'Day (UTC)'],
  ['total', 'Total (prepaid credit)'],
]

/** The words for an amount per budget period. */
export const perPeriod = (period) => (period === 'total' ? 'in total' : `per ${period}`)

/** The words for the present budget period. Empty for a total, which has only one. */
export const thisPeriod = (period) => (period === 'total' ? '' : `this ${period}`)

export const ENFORCEMENTS = [
  ['hard', 'Hard: refuse requests over the budget or a limit'],
  ['soft', 'Soft: only count and send alerts'],
]

export const CACHE_SCOPES = [
  ['off', 'Off'],
  ['colo', 'Per data center'],
  ['global', 'Global (KV)'],
]

export const KINDS = [
  ['gateway', 'Gateway (sk_): model requests'],
  ['project', 'Project (pk_): usage and compliance'],
]

export const ENVIRONMENTS = [
  ['production', 'Production'],
  ['development', 'Development (test mode, free)'],
]

/** Permissions with their labels and the key kinds that can have them. */
const PERMISSIONS = [
  ['completions', 'Completions', ['gateway']],
  ['embeddings', 'Embeddings', ['gateway']],
  ['models', 'Model list', ['gateway', 'project']],
  ['usage', 'Usage reports', ['gateway', 'project']],
  ['validate', 'Governor validation', ['gateway']],
  ['violations', 'Violations', ['project']],
  ['triage', 'Violation triage', ['project']],
  ['registry', 'Model registry', ['project']],
  ['registry.edit', 'Model registry changes', ['project']],
  ['compliance', 'Compliance data', ['project']],
]

/** The permissions that a key of a kind can have. @returns {[string, string][]} */
export function permissionsOf(kind) {
  return PERMISSIONS.filter(([, , kinds]) => kinds.includes(kind)).map(([name, label]) => [name, label])
}

export const LIMITS = [
  ['requestsPerSecond', 'Requests per second'],
  ['requestsPerDay', 'Requests per day'],
  ['tokensPerMinute', 'Tokens per minute'],
]

/** The limits that count per budget period. */
export const PERIOD_LIMITS = [
  ['requestsPerPeriod', 'Requests per period'],
  ['tokensPerPeriod', 'Tokens per period'],
]

/** The limits of a record as the text of fields. @param {[string, string][]} names */
export const typedLimits = (limits, names) => Object.fromEntries(names.map(([name]) => [name, typed(limits?.[name])]))

/** The text of fields as limits. Null for no limit. */
export const limitsOf = (texts) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, numberOrNull(text)]))

export const STRATEGIES = [
  ['ordered', 'In order'],
  ['weighted', 'Weighted'],
  ['cheapest', 'Cheapest first'],
  ['fastest', 'Fastest first'],
]

const THOUSANDS = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/

/**
 * Parses a typed number. $1,000 and 1000 have the same result. Text that is not a number is returned unchanged, so
 * the server rejects it with a message. 2,50 is not a number: a user who types it does not mean 250.
 */
export function numberOf(text) {
  const trimmed = text.trim().replace(/^\$/, '')
  const plain = THOUSANDS.test(trimmed) ? trimmed.replaceAll(',', '') : trimmed
  const number = Number(plain)
  return plain === '' || Number.isNaN(number) ? text : number
}

/** Does the same as numberOf for an optional field, which is null if it is empty. */
export function numberOrNull(text) {
  return text.trim() === '' ? null : numberOf(text)
}

export function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b)
}
