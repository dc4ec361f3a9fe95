// Figures in a row.
import { html } from '../html.js'

/** @param {{tiles: [string, any, string, any][]}} props  tiles: name, value, the value's title, and a note below it */
export function Tiles({ tiles }) {
  return html`<dl class="tiles" aria-label="Totals">${tiles.map(
    ([name, value, title, note]) => html`<div class="tile" key=${name}><dt>${name}</dt>
      <dd class="tile-value" title=${title}>${value}</dd><dd class="tile-note">${note}</dd></div>`,
  )}</dl>`
}
