// Unsaved changes. Leaving the page asks about them first: by a link, "back" or closing the tab.
import { useLayoutEffect } from 'preact/hooks'

/** The edited forms of the page, each as an object of its own. */
const edited = new Set()
const listeners = new Set()
let asked = null

function show(leave) {
  asked = leave
  for (const listener of listeners) listener(asked)
}

/** Browsers show a text of their own. The listener exists only while something is unsaved: it disables their page cache. */
const holdTab = (event) => event.preventDefault()

function add(form) {
  if (edited.size === 0) addEventListener('beforeunload', holdTab)
  edited.add(form)
}

function remove(form) {
  edited.delete(form)
  if (edited.size === 0) removeEventListener('beforeunload', holdTab)
}

/** Whether the page has unsaved changes. */
export const isEdited = () => edited.size > 0

/** Marks the page as edited while is is true and the component is shown. */
export function useUnsaved(is) {
  // With the form's own change: the tab may be closed before the next frame.
  useLayoutEffect(() => {
    if (!is) return
    const form = {}
    add(form)
    return () => remove(form)
  }, [is])
}

/** Leaves at once if nothing is unsaved; else asks, and leaves if the answer is to. */
export function leaving(leave) {
  if (isEdited()) show(leave)
  else leave()
}

/** Answers the question. @param {boolean} leaves whether the changes are given up */
export function answer(leaves) {
  const leave = asked
  show(null)
  if (leaves) leave()
}

/** Calls a listener with whether the question is open, at each change. */
export function subscribe(listener) {
  const changed = (leave) => listener(leave !== null)
  listeners.add(changed)
  return () => listeners.delete(changed)
}
