// The audit log's entries in words.

const ACTIONS = {
  'session.create': 'signed in',
  'session.refuse': 'was refused at the sign-in',
  'session.delete': 'signed out',
  'project.create': 'created the project',
  'project.update': 'changed the project',
  'project.archive': 'archived the project',
  'project.restore': 'restored the project',
  'key.create': 'created a key',
  'key.update': 'changed a key',
  'key.deactivate': 'deactivated a key',
  'key.reactivate': 'reactivated a key',
  'key.rotate': 'rotated a key',
  'key.delete': 'deleted a key',
  'provider_key.set': 'set a provider key',
  'provider_key.delete': 'removed a provider key',
}

export function actionText(action) {
  return ACTIONS[action] ?? action
}

/** Fields that say nothing to a reader: a number that grows with every change. */
const NOISE = new Set(['version'])

/**
 * An entry's changed fields, in the order of their names.
 * @param {{before: object | null, after: object | null}} entry
 * @returns {{field: string, before: string | null, after: string | null}[]} null: the field was not there
 */
export function changesOf({ before, after }) {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return fields
    .filter((field) => !NOISE.has(field))
    .sort()
    .map((field) => ({ field, before: textIn(before, field), after: textIn(after, field) }))
}

function textIn(object, field) {
  return object && field in object ? valueText(object[field]) : null
}

/** A JSON value as a person reads it. */
export function valueText(value) {
  if (value === null || value === '') return 'none'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ')
  if (typeof value !== 'object') return String(value)
  const members = Object.entries(value).map(([name, member]) => `${name} ${valueText(member)}`)
  return members.length === 0 ? 'none' : `{${members.join('; ')}}`
}
