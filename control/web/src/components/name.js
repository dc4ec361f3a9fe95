// Names that users chose for projects, keys and models. They have up to 128 characters.
import { html } from '../html.js'

/**
 * A name, truncated to the width of its column. The title attribute, the object's page and a focused link show the
 * whole name.
 */
export function Name({ text, href }) {
  if (!href) return html`<span class="name" title=${text}>${text}</span>`
  return html`<a class="name" href=${href} title=${text}>${text}</a>`
}
