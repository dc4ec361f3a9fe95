// The dialog that asks whether to leave a page with unsaved changes.
import { useEffect, useState } from 'preact/hooks'
import { html } from '../html.js'
import { answer, subscribe } from '../unsaved.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'

export function UnsavedDialog() {
  const [asked, setAsked] = useState(false)
  useEffect(() => subscribe(setAsked), [])
  if (!asked) return null
  return html`<${Dialog} title="Leave without saving?" onClose=${() => answer(false)}>
    <p>This page has changes that are not saved yet.</p>
    <div class="buttons">
      <${Button} autofocus onClick=${() => answer(false)}>Stay on this page<//>
      <${Button} look="danger" onClick=${() => answer(true)}>Leave without saving<//>
    </div>
  <//>`
}
