// Forms over something that others may change meanwhile. A draft is what stands in the form; draftOf makes it
// from what the server has, fieldsOf makes of it what the server takes.
import { useState } from 'preact/hooks'
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

/**
 * The draft of a form over what the page has now. When that has changed meanwhile, by another part of the page or by
 * somebody else, the draft follows in the fields that were not touched.
 * @param {{version: number}} now
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

/** Does act; if that loses a race, the page gets what the others left before the error is shown. */
export async function orReload(act, load, onLoaded) {
  try {
    return await act()
  } catch (error) {
    if (error.status === 409) onLoaded(await load().catch(() => Promise.reject(error)))
    throw error
  }
}
