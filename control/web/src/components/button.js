// Buttons. For viewers, buttons that make changes are disabled and say why.
import { html } from '../html.js'
import { useSession, useViewer, VIEWER_REASON } from '../session.js'

export const VIEWER_NOTE_ID = 'viewer-note'

const stop = (event) => event.preventDefault()

/**
 * A button. Busy and idle buttons ignore clicks but keep the focus, unlike disabled ones.
 * @param {object} props the <button> element's attributes, and
 *   look: space-separated styles (primary, danger, small …); changes: the action is for owners only;
 *   busy: the action is running; idle: there is nothing to do
 */
export function Button({
  look = '',
  changes = false,
  busy = false,
  idle = false,
  disabled = false,
  children,
  ...rest
}) {
  const forbidden = useViewer() && changes
  const { pending } = useSession()
  const note = forbidden && !pending ? { title: VIEWER_REASON, 'aria-describedby': VIEWER_NOTE_ID } : {}
  const waiting = busy || idle ? { 'aria-busy': String(busy), 'aria-disabled': 'true', onClick: stop } : {}
  return html`<button type="button" class=${`button ${look}`} ...${rest} ...${note} ...${waiting} disabled=${disabled || forbidden}>${children}</button>`
}

/** A link that looks like a button. For viewers, a link with the property "changes" becomes a disabled button. */
export function ButtonLink({ href, look = '', changes = false, children, ...rest }) {
  const forbidden = useViewer() && changes
  if (forbidden) return html`<${Button} look=${look} changes>${children}<//>`
  return html`<a class=${`button ${look}`} href=${href} ...${rest}>${children}</a>`
}
