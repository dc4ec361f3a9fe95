// A budget and how much of it is spent.
import { percent } from '../format.js'
import { html } from '../html.js'
import { budgetShare } from '../usage.js'
import { thisPeriod } from '../values.js'
import { Money } from './money.js'
import { Card } from './page.js'

/** From this part of a budget on, in percent, it counts as nearly spent. */
export const WARN_FROM = 80

/** The color of a budget. @param {number} share the spent part in percent */
export const lookOf = (share) => (share >= 100 ? 'bad' : share >= WARN_FROM ? 'warn' : '')

/**
 * The card with a budget.
 * @param {{of: {limit: number, used: number, remaining: number, period: string, end: string | null}, children?: any}} props
 *   end: the time of the reset. A total has none; children: what follows the sentence about the reset
 */
export function BudgetCard({ of: { limit, used, remaining, period, end }, children }) {
  const share = budgetShare({ limit, used })
  const words = limit > 0 ? percent(used, limit) : '100%'
  return html`<${Card} title="Budget" look="budget">
    <p class="budget-line"><span><strong><${Money} of=${used} /></strong> of <${Money} of=${limit} /> used ${thisPeriod(period)}</span>
      <span><${Money} of=${remaining} /> remaining</span></p>
    <div class=${`bar ${lookOf(share)}`} role="progressbar" aria-label="Budget used" aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${Math.round(share)} aria-valuetext=${`${words} used`}><span style=${{ width: `${share}%` }}></span></div>
    <p class="muted">${words} used. ${resetWords({ period, end })} ${children}</p>
  <//>`
}

/** Says when a budget resets. The day begins at midnight UTC. */
export function resetWords({ period, end }) {
  return period === 'total' || !end ? 'Does not reset.' : `Resets on ${end.slice(0, 10)} (UTC).`
}
