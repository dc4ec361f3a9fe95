// Names that others chose: of projects, keys and models, up to 128 characters.
import { html } from '../html.js'

/** A name, cut to the width of its column. Its title, the focus and the object's page show the whole name. */
export function Name({ text, href }) {
  if (!href) return html`<span class="name" title=${text}>${text}</span>`
  return html`<a class="name" href=${href} title=${text}>${text}</a>`
}
