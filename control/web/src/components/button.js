// Buttons. One that changes something is disabled for a viewer, and says why.
import { html } from '../html.js'
import { useViewer, VIEWER_REASON } from '../session.js'

export const VIEWER_NOTE_ID = 'viewer-note'

const stop = (event) => event.preventDefault()

/**
 * @param {object} props of the button; besides them
 *   look: primary, danger, small …, with spaces between; changes: it changes something; busy: it is at it, and
 *   does nothing more, but keeps the focus; idle: it has nothing to do now, and keeps the focus too
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
  const refused = useViewer() && changes
  const note = refused ? { title: VIEWER_REASON, 'aria-describedby': VIEWER_NOTE_ID } : {}
  const waiting = busy || idle ? { 'aria-busy': String(busy), 'aria-disabled': 'true', onClick: stop } : {}
  return html`<button type="button" class=${`button ${look}`} ...${rest} ...${note} ...${waiting} disabled=${disabled || refused}>${children}</button>`
}

/** A link that looks like a button; for a viewer, a disabled button. */
export function ButtonLink({ href, look = '', changes = false, children, ...rest }) {
  const refused = useViewer() && changes
  if (refused) return html`<${Button} look=${look} changes>${children}<//>`
  return html`<a class=${`button ${look}`} href=${href} ...${rest}>${children}</a>`
}
