// Unsaved changes. The user must confirm before a link, "back" or the closing of the tab leaves the page.
import { useLayoutEffect } from 'preact/hooks'

/** The edited forms of the page. Each is represented by a unique object. */
const edited = new Set()
const listeners = new Set()
let asked = null

function show(leave) {
  asked = leave
  for (const listener of listeners) listener(asked)
}

/**
 * Makes the browser ask with its own message. The listener exists only while something is unsaved, because it
 * disables the browser's page cache.
 */
const holdTab = (event) => event.preventDefault()

function add(form) {
  if (edited.size === 0) addEventListener('beforeunload', holdTab)
  edited.add(form)
}

function remove(form) {
  edited.delete(form)
  if (edited.size === 0) removeEventListener('beforeunload', holdTab)
}

export const isEdited = () => edited.size > 0

/** Marks the page as edited while "is" is true and the component is shown. */
export function useUnsaved(is) {
  // Runs together with the form's change, because the tab may be closed before the next frame.
  useLayoutEffect(() => {
    if (!is) return
    const form = {}
    add(form)
    return () => remove(form)
  }, [is])
}

/** Leaves at once if nothing is unsaved. Otherwise, asks the user and leaves if they confirm. */
export function leaving(leave) {
  if (isEdited()) show(leave)
  else leave()
}

/** Answers the question whether to leave. @param {boolean} leaves whether to discard the changes */
export function answer(leaves) {
  const leave = asked
  show(null)
  if (leaves) leave()
}

/** Calls a listener on each change. The argument says whether the question is open. */
export function subscribe(listener) {
  const changed = (leave) => listener(leave !== null)
  listeners.add(changed)
  return () => listeners.delete(changed)
}
