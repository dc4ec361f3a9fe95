// An amount of money, always formatted in the same way: to the cent or with three significant digits. The title
// attribute has all digits.
import { money, moneyExact } from '../format.js'
import { html } from '../html.js'

/** @param {{of: number | string}} props  of: dollars */
export function Money({ of: dollars }) {
  return html`<span title=${moneyExact(dollars)}>${money(dollars)}</span>`
}
