// Forms over something that others may change meanwhile. A draft is what stands in the form; draftOf makes it
// from what the server has, fieldsOf makes of it what the server takes.
import { same } from './values.js'

/** Only the fields that were changed in the form. */
export function changed(draft, base, { draftOf, fieldsOf }) {
  const before = draftOf(base)
  const names = Object.keys(draft).filter((name) => !same(draft[name], before[name]))
  const fields = fieldsOf(draft)
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

/** A draft over what others have left: what was typed here stays, the rest is theirs. */
export function merged(draft, base, theirs, { draftOf }) {
  const before = draftOf(base)
  const after = draftOf(theirs)
  return Object.fromEntries(
    Object.keys(after).map((name) => [name, same(draft[name], before[name]) ? after[name] : draft[name]]),
  )
}
