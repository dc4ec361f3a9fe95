// The violations of all projects.
import { queryOf } from '../api.js'
import { Id } from '../components/ids.js'
import { Name } from '../components/name.js'
import { Page } from '../components/page.js'
import { RangeBar, useRange } from '../components/range.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { ViolationFilters, violationColumns } from '../components/violations.js'
import { count, plural } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { sinceOf, VIOLATION_RANGES } from '../ranges.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'
import { newestFirst } from '../violations.js'

const LEAD = 'What the Governor found in the requests and responses of all projects. The content itself is not stored.'
const NAMES = ['state', 'category', 'severity', 'decision']
/** The maximum number of violations per project. See MAX_PAGE in lists.js. */
const NEWEST = 100

export function AllViolationsPage() {
  const [filters, setFilters] = useQuery(NAMES)
  const selected = useRange(VIOLATION_RANGES, 'today')
  const query = { ...filters, from: sinceOf(selected.range.name) }
  const sorting = useOrder()
  const list = useList('violations', 'violations', query, { all: true })
  const shown = !list.stale && list.data && { from: list.data.last.from, to: new Date(list.at).toISOString() }
  return html`<${Page} title="All violations" lead=${LEAD} actions=${html`<${Refresh} of=${list} />`}>
    <${RangeBar} of=${selected} shown=${shown} />
    <${ViolationFilters} filters=${filters} set=${setFilters} />
    <${Loaded} of=${list} what="violations" rows=${8}>${({ items, cut, last, next }) => html`
      <p class="muted" role="status">${next ? html`<${Searching} searched=${last.searched} />` : `${plural(last.searched, 'project')} searched`}</p>
      ${cut.length > 0 && html`<${Cut} projects=${cut} items=${items} filters=${filters} />`}
      <${Listed} list=${list} noun="violation" none=${html`<${None} />`}>
        <${Table} ...${sorting} caption="Violations of all projects, newest first" columns=${COLUMNS} rows=${newestFirst(items)} rowKey=${(violation) => `${violation.project.id} ${violation.id}`} />
      <//>`}<//>
  <//>`
}

/**
 * How far the projects have been searched. The number of projects is requested only if the search takes more than one
 * page.
 */
function Searching({ searched }) {
  const { data } = useList('projects', 'projects', {}, { all: true })
  const all = data && !data.next && data.items.length
  return all >= searched
    ? `${count(searched)} of ${plural(all, 'project')} searched`
    : `${plural(searched, 'project')} searched`
}

/** The projects that have more violations than the list shows. */
function Cut({ projects, items, filters }) {
  const nameOf = (id) => items.find(({ project }) => project.id === id)?.project.name ?? id
  return html`<p>Only the newest ${NEWEST} of ${projects.map(
    (id, i) =>
      html`${i > 0 && ', '}<a key=${id} href=${to('projects', id, 'violations') + queryOf(filters)}>${nameOf(id)}</a>`,
  )} are in the list.</p>`
}

function None() {
  return html`<${Empty} title="No violations match"><p>Change the filters, or select another range.</p><//>`
}

const COLUMNS = violationColumns(
  ({ project }) => project,
  {
    label: 'API key',
    sort: ({ key }) => key,
    cell: ({ key, project }) => html`<${Id} id=${key} project=${project.id} look="id short" />`,
  },
  [
    {
      label: 'Project',
      sort: ({ project }) => project.name,
      cell: ({ project }) => html`<${Name} text=${project.name} href=${to('projects', project.id)} />`,
    },
  ],
)
