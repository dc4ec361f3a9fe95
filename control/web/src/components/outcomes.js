// Outcomes and causes of requests: badges, tiles and a table, with links to the requests behind them.
import { queryOf } from '../api.js'
import { compact, count, percent } from '../format.js'
import { html } from '../html.js'
import {
  causesOf,
  causeWords,
  notServed,
  outcomeLook,
  outcomeOf,
  outcomeWords,
  RECORDED,
  REQUESTS_MEAN,
} from '../outcomes.js'
import { to } from '../router.js'
import { Badge } from './badge.js'
import { Card } from './page.js'
import { Table } from './table.js'
import { wasBefore } from './tiles.js'

/** A link target: the list of a project's requests, filtered. @param {{from: string, to: string}} [range] two dates or two times */
export const requestsHref = (project, filters, range) =>
  to('projects', project.id, 'requests') + queryOf({ ...filters, from: range?.from, to: range?.to })

export function Outcome({ of: outcome }) {
  return html`<${Badge} of=${outcomeWords(outcome)} look=${outcomeLook(outcome)} />`
}

/**
 * The tiles of an overview. All percentages are of all requests.
 * @param {{id: string} | null} project  null if the figures cover all projects, because there is no list of their requests
 * @param {object} [before] the figures of the previous range
 * @param {{from: string, to: string}} [range] the range of the figures
 */
export function outcomeTiles(totals, project, before, range) {
  const { requests, outcomes } = totals
  const { served, left } = outcomes
  return [
    [
      'Requests',
      compact(requests),
      `${count(requests)}. ${REQUESTS_MEAN}`,
      `${count(served)} served`,
      wasBefore(totals, before, (of) => of.requests, compact),
    ],
    outcomeTile('refused', totals, project, before, range),
    outcomeTile('failed', totals, project, before, range),
    left > 0 && outcomeTile('left', totals, project, before, range),
  ].filter(Boolean)
}

function outcomeTile(outcome, totals, project, before, range) {
  const { requests, outcomes } = totals
  const number = outcomes[outcome]
  const [most] = causesOf(outcomes).filter(([cause]) => outcomeOf(cause) === outcome)
  const value =
    number > 0 && project
      ? html`<a href=${requestsHref(project, { outcome }, range)}>${compact(number)}</a>`
      : compact(number)
  const why = most && outcome !== 'left' ? `, mostly: ${causeWords(most[0])}` : ''
  const was = wasBefore(totals, before, (of) => of.outcomes[outcome], compact)
  return [outcomeWords(outcome), value, count(number), `${percent(number, requests)} of all${why}`, was]
}

const figure = (label, value, title) => ({
  label,
  title,
  num: true,
  sort: value,
  cell: (row) => count(value(row)),
})

/** Columns for usage tables. The last four add up to the first. */
export const OUTCOME_COLUMNS = [
  figure('Requests', (row) => row.requests, REQUESTS_MEAN),
  figure('Served', (row) => row.outcomes.served, 'Also from the cache'),
  figure('Refused', (row) => row.outcomes.refused, 'By the gateway, before a provider was called'),
  figure('Failed', (row) => row.outcomes.failed, 'At providers, or in the gateway'),
  figure('Left', (row) => row.outcomes.left, 'By the client, before the response was complete'),
]

/** The requests that were not served, by cause. Renders nothing if all were served. */
export function CausesCard({ totals: { requests, outcomes }, project, range }) {
  if (notServed(outcomes) === 0) return null
  const columns = [
    {
      label: 'Cause',
      head: true,
      cell: ([cause]) => html`<a href=${requestsHref(project, { cause }, range)}>${causeWords(cause)}</a>`,
    },
    { label: 'Outcome', cell: ([cause]) => html`<${Outcome} of=${outcomeOf(cause)} />` },
    { label: 'Requests', num: true, cell: ([, number]) => count(number) },
    { label: 'Share of all', num: true, cell: ([, number]) => percent(number, requests) },
  ]
  return html`<${Card} title="Not served, by cause">
    <p class="muted">${count(notServed(outcomes))} of ${count(requests)} requests. The links lead to the recorded ones. ${RECORDED}</p>
    <${Table} caption="Requests not served, by cause" columns=${columns} rows=${causesOf(outcomes)} rowKey=${([cause]) => cause} />
  <//>`
}
