// Audit log entries as text.
import { moneyExact } from './format.js'
import { same } from './values.js'

const NONE = 'none'

const ACTIONS = {
  'session.create': 'signed in',
  'session.refuse': 'failed to sign in',
  'session.delete': 'signed out',
  'project.create': 'created the project',
  'project.update': 'updated the project',
  'project.archive': 'archived the project',
  'project.restore': 'restored the project',
  'project.credit': 'added credit to the project',
  'group.create': 'created a group',
  'group.update': 'changed a group',
  'group.delete': 'deleted a group',
  'group.archive': 'archived a group',
  'group.restore': 'restored a group',
  'group.credit': 'added credit to a group',
  'key.create': 'created a key',
  'key.update': 'updated a key',
  'key.deactivate': 'deactivated a key',
  'key.reactivate': 'reactivated a key',
  'key.rotate': 'rotated a key',
  'key.delete': 'deleted a key',
  'key.credit': 'added credit to a key',
  'provider_key.set': 'set a provider key',
  'provider_key.delete': 'removed a provider key',
  'governor.update': 'changed the Governor’s settings',
  'violation.triage': 'triaged a violation',
  'registry.create': 'registered a model',
  'registry.update': 'changed a registered model',
  'registry.transition': 'changed a model’s state',
  'registry.enforcement': 'changed the registry’s enforcement',
  'deployment.export': 'exported the deployment',
  'deployment.import': 'imported a deployment',
}

/** Fields with dollars. */
const AMOUNTS = new Set(['budget', 'amount', 'total'])

export function actionText(action) {
  return ACTIONS[action] ?? action
}

/** Fields that are shown elsewhere in the entry or change with every update. */
const HIDDEN = new Set(['version', 'id', 'groupId', 'delivery', 'createdAt', 'setAt', 'lastUsedAt'])

/**
 * The fields that an entry says were changed, sorted by name. The changed fields of a nested object are listed one by
 * one. For a created or deleted record, empty fields are left out.
 * @param {{before: object | null, after: object | null}} entry
 * @returns {{field: string, before: string | null, after: string | null}[]} null: the field did not exist
 */
export function changesOf({ before, after }) {
  const changes = namesOf(before, after)
    .filter((field) => !HIDDEN.has(field))
    .flatMap((field) => changesIn(field, before?.[field], after?.[field]))
  return before && after ? changes : changes.filter((change) => (change.before ?? change.after) !== NONE)
}

function namesOf(a, b) {
  return [...new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])].sort()
}

function changesIn(field, before, after) {
  if (isObject(before) && isObject(after)) {
    const differing = namesOf(before, after).filter((name) => !same(before[name], after[name]))
    return differing.map((name) => change(`${field}.${name}`, before[name], after[name]))
  }
  return [change(field, before, after)]
}

function change(field, before, after) {
  const textOf = AMOUNTS.has(field) ? amountText : valueText
  const text = (value) => (value === undefined ? null : textOf(value))
  if (same(before, after)) return { field, before: null, after: text(after) } // unchanged, but gives context for the other fields
  return { field, before: text(before), after: text(after) }
}

function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

const amountText = (value) => (typeof value === 'number' ? moneyExact(value) : valueText(value))

export function valueText(value) {
  if (value === null || value === '') return NONE
  if (Array.isArray(value)) return value.length === 0 ? NONE : value.map(valueText).join(', ')
  if (typeof value !== 'object') return String(value)
  const members = Object.entries(value)
    .map(([name, member]) => [name, valueText(member)])
    .filter(([, text]) => text !== NONE)
    .map(([name, text]) => `${name} ${text}`)
  return members.length === 0 ? NONE : `{${members.join('; ')}}`
}
