// Forms that edit a record that others may change at the same time. A draft is the form's content. A form is an
// object {draftOf, fieldsOf}: draftOf converts a record to a draft, and fieldsOf converts a draft to the API's
// fields.
import { useState } from 'preact/hooks'
import { same } from './values.js'

/** The fields that the user changed in the form. */
export function changed(draft, base, { draftOf, fieldsOf }) {
  const before = draftOf(base)
  const names = Object.keys(draft).filter((name) => !same(draft[name], before[name]))
  const fields = fieldsOf(draft)
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

/**
 * A draft merged with a newer record. Edited fields keep the draft's values, and the other fields take the record's
 * values.
 */
export function merged(draft, base, theirs, { draftOf }) {
  const before = draftOf(base)
  const after = draftOf(theirs)
  return Object.fromEntries(
    Object.keys(after).map((name) => [name, same(draft[name], before[name]) ? after[name] : draft[name]]),
  )
}

/**
 * The draft of a form that edits the page's current record. If the record changes elsewhere, the fields that the user
 * has not edited are updated.
 * @param {{version: number}} now the current record
 */
export function useDraft(now, form) {
  const [base, setBase] = useState(now)
  const [draft, setDraft] = useState(form.draftOf(now))
  const follow = (theirs) => {
    setDraft(merged(draft, base, theirs, form))
    setBase(theirs)
  }
  const restart = (saved) => {
    setDraft(form.draftOf(saved))
    setBase(saved)
  }
  if (now.version > base.version) follow(now)
  return {
    draft,
    base,
    clean: same(draft, form.draftOf(base)),
    changes: () => changed(draft, base, form),
    change: (fields) => setDraft({ ...draft, ...fields }),
    follow,
    restart,
  }
}

/**
 * Runs act. If there is a version conflict (409), the current record is loaded into the page, and then the error is
 * thrown.
 */
export async function orReload(act, load, onLoaded) {
  try {
    return await act()
  } catch (error) {
    if (error.status === 409) onLoaded(await load().catch(() => Promise.reject(error)))
    throw error
  }
}
