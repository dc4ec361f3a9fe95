// Links to the documentation, which the gateway serves unless its operator has turned that off.
import { html } from '../html.js'
import { useSession } from '../session.js'

/** A link to a page of the documentation, in a new tab; without documentation, only its content, or nothing. */
export function DocsLink({ href, optional = false, children }) {
  if (useSession().docs) return html`<a href=${href} target="_blank" rel="noreferrer">${children}</a>`
  return optional ? null : html`<span>${children}</span>`
}
