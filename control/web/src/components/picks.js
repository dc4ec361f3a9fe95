// The checkboxes of a table's rows, in the first column.
import { html } from '../html.js'

/** When Enter is pressed in a checkbox, moves the focus to the actions, past the rest of the table. */
function toActions(event) {
  if (event.key !== 'Enter') return
  event.preventDefault()
  document.querySelector('.bulk .button')?.focus()
}

function Pick({ children, onPick, ...rest }) {
  return html`<label class="pick-box"><input type="checkbox" title="Enter leads to the actions" onKeyDown=${toActions}
    onChange=${(event) => onPick(event.target.checked)} ...${rest} />${children}</label>`
}

/** The checkbox for all shown rows. @param {{picks: object, ids: string[]}} props */
export function PickAll({ picks, ids }) {
  const number = ids.filter(picks.has).length
  const all = number === ids.length
  return html`<th role="columnheader" scope="col" class="pick">
    <${Pick} checked=${all} indeterminate=${number > 0 && !all} aria-label="Select all shown" onPick=${(on) => picks.pick(ids, on)}><span>Select all shown</span><//>
  </th>`
}

/** The checkbox for one row. @param {{picks: object, id: string, name: string}} props */
export function PickOne({ picks, id, name }) {
  return html`<td role="cell" class="pick" data-label="Select">
    <${Pick} checked=${picks.has(id)} aria-label=${`Select ${name}`} onPick=${(on) => picks.pick([id], on)} />
  </td>`
}
