// Violations' states with their labels, and the transitions between them.

export const STATES = [
  ['open', 'Open'],
  ['acknowledged', 'Acknowledged'],
  ['resolved', 'Resolved'],
  ['false_positive', 'False positive'],
]

/**
 * The buttons for each state, which lead to the next states. core/ledger defines the transitions, and
 * control/webtables_test.go compares the two.
 */
const TRANSITIONS = {
  open: ['acknowledged', 'resolved', 'false_positive'],
  acknowledged: ['resolved', 'false_positive', 'open'],
  resolved: ['open'],
  false_positive: ['open'],
}
export const VERBS = {
  acknowledged: 'Acknowledge',
  resolved: 'Resolve',
  false_positive: 'Mark as false positive',
  open: 'Reopen',
}

export function stateLabel(state) {
  return STATES.find(([name]) => name === state)?.[1] ?? state
}

/** @returns {[string, string][]} pairs of the next state and the button's verb */
export function transitionsOf(state) {
  return (TRANSITIONS[state] ?? []).map((next) => [next, VERBS[next]])
}

/** Violations of several projects, newest first. */
export function newestFirst(violations) {
  return [...violations].sort((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0))
}

/**
 * The value of a date input in RFC 3339 format: midnight UTC of that date, plus "days" days. An empty date stays
 * empty.
 */
export function startOf(date, days = 0) {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) ? '' : new Date(ms + days * 86_400_000).toISOString()
}
