// The spent parts of a group's budget and limits, and the age of these figures.
import { Age } from '../components/age.js'
import { BudgetCard, resetWords } from '../components/budget.js'
import { Money } from '../components/money.js'
import { Card } from '../components/page.js'
import { Facts } from '../components/table.js'
import { count, percent } from '../format.js'
import { html } from '../html.js'
import { perPeriod, thisPeriod } from '../values.js'

const SOFT = 'A soft budget only counts and sends alerts.'
const NO_BUDGET = 'No budget. The budgets of its projects and of the groups above still apply.'
const DECIMALS = 12

/** @param {{of: object, at: number}} props  of: a group; at: the time when it was loaded, in ms */
export function Spend({ of: group, at }) {
  const { limits } = group
  const limited = Object.values(limits).some((limit) => limit !== null)
  const age =
    group.spent && html`Figures <${Age} at=${new Date(at).toISOString()} />, at most five minutes behind the requests.`
  return html`<${Budget} of=${group} age=${age} />${limited && html`<${Limits} of=${group} age=${age} />`}`
}

function Budget({ of: { budget, budgetPeriod: period, enforce, spent }, age }) {
  if (budget === null) return html`<${Card} title="Budget"><p>${NO_BUDGET}</p><//>`
  const soft = enforce === 'soft' && SOFT
  const used = spent?.amount ?? null // null after a change, until it has loaded
  if (used === null)
    return html`<${Card} title="Budget"><p><${Money} of=${budget} /> ${perPeriod(period)}. ${soft}</p><//>`
  const remaining = Math.max(0, Number((budget - used).toFixed(DECIMALS)))
  return html`<${BudgetCard} of=${{ limit: budget, used, remaining, period, end: spent.resetsAt }}>${soft} ${age}<//>`
}

function Limits({ of: { limits, budgetPeriod: period, spent }, age }) {
  const used = (number, limit) =>
    number === null || number === undefined
      ? `${count(limit)} ${perPeriod(period)}`
      : `${count(number)} of ${count(limit)} used ${thisPeriod(period)} (${percent(number, limit)})`
  const rows = [
    ['Requests', spent?.requests, limits.requestsPerPeriod],
    ['Tokens', spent?.tokens, limits.tokensPerPeriod],
  ]
  return html`<${Card} title="Limits">
    <${Facts} rows=${rows.filter(([, , limit]) => limit !== null).map(([name, number, limit]) => [name, used(number, limit)])} />
    <p class="muted">${resetWords({ period, end: spent?.resetsAt })} ${age}</p>
  <//>`
}
