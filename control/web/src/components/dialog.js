// Dialogs, built on the <dialog> element, which traps the focus and closes on Escape.
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { FormError } from './form.js'

/**
 * A modal dialog. If it is "persistent", only its own buttons close it, because the user must not miss a result such as
 * a one-time secret.
 */
export function Dialog({ title, persistent = false, onClose, children }) {
  const ref = useRef(null)
  const id = useId()
  useIgnoredEscape(persistent)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog.showModal()
    return () => dialog.close() // returns the focus to the element that had it before
  }, [])
  const cancel = (event) => {
    event.preventDefault()
    if (!persistent) onClose()
  }
  // Runs when the browser has closed the dialog. On a second close request, such as a phone's back button, the
  // browser closes it although "cancel" was prevented.
  const closed = () => {
    if (!ref.current) return // already unmounted
    if (persistent) ref.current.showModal()
    else onClose()
  }
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${closed}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`
}

/**
 * Keeps Escape from the dialog. By itself, a dialog can prevent only the first Escape, because Chromium closes it on
 * the next one.
 */
function useIgnoredEscape(ignored) {
  useLayoutEffect(() => {
    if (!ignored) return
    const ignore = (event) => event.key === 'Escape' && event.preventDefault()
    document.addEventListener('keydown', ignore)
    return () => document.removeEventListener('keydown', ignore)
  }, [ignored])
}

/**
 * Asks for confirmation before an action and shows the action's error. The dialog cannot be closed while the action
 * runs, because the user must see the result, such as a new key's value.
 * @param {{title: string, action: string, danger?: boolean, act: () => Promise<any>, onDone: (result: any) => void,
 *   onClose: () => void, keepOpen?: boolean, children: any}} props  keepOpen: act replaces this dialog with another one
 */
export function Confirm({ title, action, danger = false, act, onDone, onClose, keepOpen = false, children }) {
  const { busy, error, run } = useAction(async () => {
    const result = await act()
    if (!keepOpen) onClose()
    onDone(result)
  })
  return html`<${Dialog} title=${title} persistent=${busy} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <${FormError} error=${error} />
    <div class="buttons">
      <${Button} autofocus disabled=${busy} onClick=${onClose}>Cancel<//>
      <${Button} look=${danger ? 'danger' : 'primary'} changes busy=${busy} onClick=${() => run()}>${action}<//>
    </div>
  <//>`
}
