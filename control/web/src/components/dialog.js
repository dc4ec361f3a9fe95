// Dialogs: the browser's own, which keep the focus inside and close with Escape.
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { FormError } from './form.js'

/** kept: nothing but its own buttons closes it, because what it shows, or is about to, is not shown again. */
export function Dialog({ title, kept = false, onClose, children }) {
  const ref = useRef(null)
  const id = useId()
  useIgnoredEscape(kept)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog.showModal()
    return () => dialog.close() // which gives the focus back to what had it before
  }, [])
  const cancel = (event) => {
    event.preventDefault()
    if (!kept) onClose()
  }
  // A browser closes it all the same if it is asked to twice, as by a telephone's button for going back.
  const closed = () => {
    if (!ref.current) return // it is gone already
    if (kept) ref.current.showModal()
    else onClose()
  }
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${closed}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`
}

/** Chromium lets a dialog refuse one Escape only, and closes it at the next: so it is not to hear of any. */
function useIgnoredEscape(ignored) {
  useLayoutEffect(() => {
    if (!ignored) return
    const ignore = (event) => event.key === 'Escape' && event.preventDefault()
    document.addEventListener('keydown', ignore)
    return () => document.removeEventListener('keydown', ignore)
  }, [ignored])
}

/**
 * Asks before something is done, and shows what went wrong with it. While it is being done it stays: what comes
 * of it, such as a new key's value, is to be seen.
 * @param {{title: string, action: string, danger?: boolean, act: () => Promise<any>, onDone: (result: any) => void,
 *   onClose: () => void, stays?: boolean, children: any}} props  stays: another dialog takes this one's place
 */
export function Confirm({ title, action, danger = false, act, onDone, onClose, stays = false, children }) {
  const { busy, error, run } = useAction(async () => {
    const result = await act()
    if (!stays) onClose()
    onDone(result)
  })
  return html`<${Dialog} title=${title} kept=${busy} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <${FormError} error=${error} />
    <div class="buttons">
      <${Button} autofocus disabled=${busy} onClick=${onClose}>Cancel<//>
      <${Button} look=${danger ? 'danger' : 'primary'} changes busy=${busy} onClick=${() => run()}>${action}<//>
    </div>
  <//>`
}
