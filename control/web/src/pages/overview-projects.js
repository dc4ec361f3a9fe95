// Home: the table of all projects.
import { useState } from 'preact/hooks'
import { queryOf } from '../api.js'
import { Age } from '../components/age.js'
import { Badge } from '../components/badge.js'
import { lookOf } from '../components/budget.js'
import { Button } from '../components/button.js'
import { TextField } from '../components/form.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Card } from '../components/page.js'
import { Spark } from '../components/spark.js'
import { Table } from '../components/table.js'
import { LATENCY_P95 } from '../components/usage-columns.js'
import { count, money, percent, plural } from '../format.js'
import { html } from '../html.js'
import { named } from '../overview.js'
import { to, useQuery } from '../router.js'
import { sorted, useOrder } from '../sort.js'
import { share } from '../usage.js'
import { thisPeriod } from '../values.js'
import { projectHref } from './overview-links.js'

/** The ID of the table's frame. Links on the page lead to the frame. */
export const PROJECTS_ID = 'all-projects'

const AT_ONCE = 250

/** @param {{data: object, query: object}} props  data: from GET …/overview; query: the query of its range */
export function AllProjects({ data: { projects, step, next, incomplete }, query }) {
  const [{ q }, setQuery] = useQuery(['q'])
  const [wanted, setWanted] = useState(AT_ONCE)
  const sorting = useOrder()
  const columns = columnsOf(step)
  const found = sorted(named(projects, q), columns, sorting.order)
  const shown = found.slice(0, wanted)
  const csv = (compare, label) =>
    html`<a href=${`/api/admin/overview${queryOf({ ...query, compare, format: 'csv' })}`} download>${label}</a>`
  const files = html`${csv('', 'All projects, CSV')} ${csv('true', 'With the range before, CSV')}`
  return html`<div id=${PROJECTS_ID} tabindex="-1"><${Card} title="All projects" actions=${files}>
    <form class="filters" role="search" aria-label="All projects" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Filter by name" type="search" value=${q} onValue=${(value) => setQuery({ q: value })} />
    </form>
    ${
      shown.length > 0 &&
      html`<${Table} ...${sorting} caption="All projects" columns=${columns} rows=${shown} rowKey=${(row) => row.projectId} />`
    }
    <div class="more">
      <span role="status" class="muted">${numberWords(shown.length, found.length, projects.length)}${next && '; more are loading'}${incomplete && '; the others could not be loaded'}</span>
      ${shown.length < found.length && html`<${Button} onClick=${() => setWanted(wanted + AT_ONCE)}>Show more<//>`}
    </div>
  <//></div>`
}

function numberWords(shown, found, all) {
  if (found === 0) return 'No projects match'
  if (shown < found) return `${count(shown)} of ${plural(found, 'project')} shown`
  return found < all ? `${count(found)} of ${plural(all, 'project')} match` : plural(all, 'project')
}

const number = (label, value, cell = (row) => count(value(row))) => ({ label, num: true, sort: value, cell })

const columnsOf = (step) => [
  {
    label: 'Project',
    sort: (row) => row.name,
    head: true,
    cell: (row) => html`<${ProjectName} of=${row} />`,
  },
  number(
    'Spend',
    (row) => row.cost,
    (row) => html`<${Money} of=${row.cost} />`,
  ),
  {
    ...number(
      'Budget used',
      ({ budget }) => budgetPercent(budget),
      (row) => html`<${BudgetUsed} of=${row.budget} />`,
    ),
    title: 'In the present day, week or month of the budget',
  },
  {
    ...number(
      'Forecast',
      (row) => row.forecast,
      (row) => html`<${Forecast} of=${row} />`,
    ),
    title: 'Spend at the end of the budget’s day, week or month',
  },
  number('Requests', (row) => row.requests),
  number('Refused', (row) => row.outcomes.refused),
  number('Failed', (row) => row.outcomes.failed),
  LATENCY_P95,
  { label: 'Traffic', cell: (row) => html`<${Spark} values=${row.spark} step=${step} />` },
  number(
    'Open violations',
    (row) => row.openViolations,
    ({ projectId, openViolations }) =>
      openViolations > 0
        ? html`<a href=${`${to('projects', projectId, 'violations')}?state=open`}>${count(openViolations)}</a>`
        : '0',
  ),
  {
    label: 'Reported',
    title: 'The age of the project’s figures',
    sort: (row) => row.reportedAt,
    cell: (row) => html`<${Age} at=${row.reportedAt} none="never" />`,
  },
]

/** A project's name. A removed project has figures but no name. */
function ProjectName({ of: { name, projectId, active } }) {
  if (name === null) return html`<code>${projectId}</code> <span class="muted">(removed)</span>`
  return html`<${Name} text=${name} href=${projectHref(projectId)} />${!active && html` <${Badge} of="archived" />`}`
}

/** The used part of a budget in percent. For a budget of 0, the result is 100. Null without a budget. */
const budgetPercent = (budget) => budget && (share(budget.used, budget.limit) ?? 100)

function BudgetUsed({ of: budget }) {
  if (!budget) return '–'
  const { limit, used, period } = budget
  const look = lookOf(budgetPercent(budget))
  const text = limit > 0 ? percent(used, limit) : '100%'
  return html`<span title=${`${money(used)} of ${money(limit)} ${thisPeriod(period)}`}>${look ? html`<${Badge} of=${text} look=${look} />` : text}</span>`
}

function Forecast({ of: { forecast, budget } }) {
  if (forecast === null) return html`<span class="muted" title="No full day yet">–</span>`
  return html`<${Money} of=${forecast} />${forecast > budget.limit && html`<span class="under">over the budget</span>`}`
}
