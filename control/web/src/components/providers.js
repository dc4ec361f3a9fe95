// The health of providers according to the attempts that all gateway instances have recorded.
import { count, percent } from '../format.js'
import { html } from '../html.js'
import { useOrder } from '../sort.js'
import { FAILURE_COLUMNS, failedAttempts } from './attempts.js'
import { Badge } from './badge.js'
import { Money } from './money.js'
import { Name } from './name.js'
import { Table } from './table.js'
import { FIRST_TOKEN_P95, LATENCY_P95 } from './usage-columns.js'

/** The states of providers. Failing providers come first. */
const STATES = ['failing', 'healthy', 'idle']

const NAME = {
  label: 'Provider',
  sort: (row) => row.provider,
  head: true,
  cell: (row) => html`<${Name} text=${row.provider} />`,
}
const STATE = {
  label: 'State',
  title: 'In the last 10 to 20 minutes. Failing: at least three attempts failed, and more than half of all',
  sort: (row) => STATES.indexOf(row.state),
  cell: ({ state, recent }) =>
    html`<${Badge} of=${state} />${recent.attempts > 0 && html`<span class="under">${count(recent.failed)} of ${count(recent.attempts)} failed</span>`}`,
}
const COST = { label: 'Cost', num: true, sort: (row) => row.cost, cell: (row) => html`<${Money} of=${row.cost} />` }

/**
 * @param {{rows: object[], more?: object[], order?: string}} props  rows: the overview's providers; more: columns after the state;
 *   order: the name of the URL parameter that holds the order
 */
export function ProviderTable({ rows, more = [], order = 'sort-providers' }) {
  const sorting = useOrder(order)
  const columns = [NAME, STATE, ...more, ...FAILURE_COLUMNS, LATENCY_P95, FIRST_TOKEN_P95, COST]
  return html`<${Table} ...${sorting} caption="Providers" columns=${columns} rows=${inOrder(rows)} rowKey=${(row) => row.provider} />`
}

/** Failing providers come first, then the providers with the most attempts. */
export function inOrder(rows) {
  const rank = ({ state }) => STATES.indexOf(state)
  return [...rows].sort((a, b) => rank(a) - rank(b) || b.attempts.total - a.attempts.total)
}

/** A provider's failures in words, such as: 3 of 10 attempts failed (30%). */
export function failuresWords({ attempts }) {
  const failed = failedAttempts(attempts)
  return `${count(failed)} of ${count(attempts.total)} attempts failed (${percent(failed, attempts.total)})`
}
