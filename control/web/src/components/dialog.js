// Dialogs: the browser's own, which keep the focus inside and close with Escape.
import { useEffect, useId, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { FormError } from './form.js'

/** kept: Escape does not close it, because what it shows is not shown again. */
export function Dialog({ title, kept = false, onClose, children }) {
  const ref = useRef(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    ref.current.showModal()
    return () => before?.isConnected && before.focus()
  }, [])
  const cancel = (event) => {
    event.preventDefault()
    if (!kept) onClose()
  }
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`
}

/**
 * Asks before something is done, and shows what went wrong with it.
 * @param {{title: string, action: string, danger?: boolean, act: () => Promise<any>, onDone: (result: any) => void,
 *   onClose: () => void, stays?: boolean, children: any}} props  stays: another dialog takes this one's place
 */
export function Confirm({ title, action, danger = false, act, onDone, onClose, stays = false, children }) {
  const { busy, error, run } = useAction(async () => {
    const result = await act()
    if (!stays) onClose()
    onDone(result)
  })
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <${FormError} error=${error} />
    <div class="buttons">
      <${Button} autofocus onClick=${onClose}>Cancel<//>
      <${Button} look=${danger ? 'danger' : 'primary'} changes busy=${busy} onClick=${() => run()}>${action}<//>
    </div>
  <//>`
}
