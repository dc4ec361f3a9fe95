// IDs and model names as links to their pages.
import { html } from '../html.js'
import { hrefOf, modelHref, piecesOf } from '../ids.js'
import { Name } from './name.js'

/** An ID. @param {{id: string, project?: string, look?: string}} props  project: ID of the project that has it */
export function Id({ id, project, look = '' }) {
  const code = html`<code class=${look} title=${look ? id : undefined}>${id}</code>`
  const href = hrefOf(id, project)
  return href ? html`<a href=${href}>${code}</a>` : code
}

/** A text whose IDs are links. */
export function WithIds({ text, project }) {
  return html`${piecesOf(text).map((piece, i) => (i % 2 === 1 ? html`<${Id} key=${i} id=${piece} project=${project} />` : piece))}`
}

/** The name of a model or a tier. "none" is what to show if there is no name. */
export function ModelName({ of: name, none = '–' }) {
  return name ? html`<${Name} text=${name} href=${modelHref(name)} />` : html`<span class="muted">${none}</span>`
}
