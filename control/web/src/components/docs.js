// Links to the documentation, which the gateway serves unless the operator has turned that off.
import { html } from '../html.js'
import { useSession } from '../session.js'

/**
 * A link that opens a documentation page in a new tab. Without documentation, it renders only the link's content, or
 * nothing.
 */
export function DocsLink({ href, optional = false, children }) {
  if (useSession().docs) return html`<a href=${href} target="_blank" rel="noreferrer">${children}</a>`
  return optional ? null : html`<span>${children}</span>`
}
