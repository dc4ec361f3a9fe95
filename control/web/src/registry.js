// Forms for the states and entries of the model registry.
import { linesOf } from './governor.js'

export const STATES = ['discovered', 'pending', 'approved', 'restricted', 'deprecated', 'retired', 'blocked']

export const RISK_TIERS = [
  ['', 'Not assessed'],
  ['minimal', 'Minimal'],
  ['limited', 'Limited'],
  ['high', 'High'],
  ['unacceptable', 'Unacceptable'],
]

export const ENFORCEMENT = [
  ['off', 'Off: only retired and blocked models are rejected'],
  ['warn', 'Warn: requests for models without approval pass, with a warning in the response'],
  ['enforce', 'Enforce: only approved models can be used'],
]

/**
 * The buttons for each state, which lead to the next states. core/policy/transitions.go defines the transitions, and
 * control/webtables_test.go compares the two.
 */
const TRANSITIONS = {
  discovered: ['pending', 'blocked'],
  pending: ['approved', 'restricted', 'blocked'],
  approved: ['restricted', 'deprecated', 'blocked'],
  restricted: ['approved', 'restricted', 'deprecated', 'blocked'],
  deprecated: ['retired', 'approved', 'restricted', 'blocked'],
  retired: ['pending', 'blocked'],
  blocked: ['pending'],
}

export const NEEDS_REASON = ['approved', 'restricted', 'blocked']

const VERBS = {
  pending: 'Submit for approval',
  approved: 'Approve',
  restricted: 'Restrict',
  deprecated: 'Deprecate',
  retired: 'Retire',
  blocked: 'Block',
}

/** @returns {[string, string][]} pairs of the next state and the button's verb */
export function transitionsOf(state) {
  return (TRANSITIONS[state] ?? []).map((next) => [next, next === state ? 'Change keys' : VERBS[next]])
}

const LISTS = ['dataClasses', 'regions', 'links']
const DATES = ['reviewDate', 'sunsetAt']
const TEXTS = ['owner', 'purpose', 'riskTier', 'retention', 'successor']

/** The fields of an entry that the form shows, for the server's messages. */
export const ENTRY_FIELDS = ['model', ...TEXTS, ...LISTS, ...DATES]

/** An entry's editable fields as a draft of strings. */
export function draftOf(entry) {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, entry?.[name] ?? '']))
  const dates = Object.fromEntries(DATES.map((name) => [name, (entry?.[name] ?? '').slice(0, 10)]))
  const lists = Object.fromEntries(LISTS.map((name) => [name, (entry?.[name] ?? []).join('\n')]))
  return { ...texts, ...dates, ...lists }
}

/** The draft as the API's fields. */
export function fieldsOf(draft) {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, draft[name].trim() || null]))
  const dates = Object.fromEntries(DATES.map((name) => [name, draft[name] || null]))
  const lists = Object.fromEntries(LISTS.map((name) => [name, linesOf(draft[name])]))
  return { ...texts, ...dates, ...lists }
}
