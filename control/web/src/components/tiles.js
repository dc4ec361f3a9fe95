// A row of figures.
import { change } from '../format.js'
import { html } from '../html.js'

/**
 * @param {{tiles: [string, any, string, any, string?][]}} props  tiles: name, value, the value's title, a note below it, and what the
 *   value was before
 */
export function Tiles({ tiles }) {
  return html`<dl class="tiles" aria-label="Totals">${tiles.map(
    ([name, value, title, note, before]) => html`<div class="tile" key=${name}><dt>${name}</dt>
      <dd class="tile-value" title=${title}>${value}</dd><dd class="tile-note">${note}</dd>
      ${before && html`<dd class="tile-before">${before}</dd>`}</div>`,
  )}</dl>`
}

/**
 * The value of a tile in the previous range. It is undefined without a comparison.
 * @param {object | undefined} before figures
 * @param {(figures: object) => number | null | undefined} value
 */
export function wasBefore(figures, before, value, format) {
  if (!before) return undefined
  const [now, was] = [value(figures), value(before)]
  if (was === null || was === undefined) return 'before: –'
  return `before: ${format(was)}${was > 0 && now !== null && now !== undefined ? `, ${change(now, was)}` : ''}`
}
