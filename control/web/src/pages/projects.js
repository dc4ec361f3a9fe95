// All projects.

import { Badge } from '../components/badge.js'
import { ButtonLink } from '../components/button.js'
import { SelectField, TextField } from '../components/form.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Time } from '../components/states.js'
import { More, Table } from '../components/table.js'
import { money } from '../format.js'
import { html } from '../html.js'
import { useList, useRested } from '../resource.js'
import { to, useQuery } from '../router.js'

const STATUSES = [
  ['active', 'Active'],
  ['archived', 'Archived'],
  ['all', 'All'],
]

const COLUMNS = [
  {
    label: 'Name',
    head: true,
    cell: (project) => html`<a href=${to('projects', project.id)}>${project.name}</a>`,
  },
  { label: 'Status', cell: (project) => html`<${Badge} of=${project.status} />` },
  { label: 'Plan', cell: (project) => project.plan },
  { label: 'Budget', num: true, cell: (project) => `${money(project.budget)} a ${project.budgetPeriod}` },
  { label: 'Created (UTC)', cell: (project) => html`<${Time} at=${project.createdAt} />` },
  { label: 'Id', cell: (project) => html`<code>${project.id}</code>` },
]

export function ProjectsPage() {
  const [filters, setFilters] = useQuery(['status', 'q'])
  const status = filters.status || 'active'
  const q = useRested(filters.q)
  const list = useList('projects', 'projects', { status: status === 'all' ? '' : status, q })
  const none = !filters.q && status === 'active'
  return html`<${Page} title="Projects" actions=${html`<${ButtonLink} href=${to('projects', 'new')} look="primary" changes>New project<//>`}>
    <form class="filters" role="search" aria-label="Projects" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Search by name" type="search" value=${filters.q} onValue=${(value) => setFilters({ q: value })} />
      <${SelectField} label="Status" options=${STATUSES} value=${status}
        onValue=${(value) => setFilters({ status: value === 'active' ? '' : value })} />
    </form>
    <${Loaded} of=${list} what="projects">${({ items }) =>
      items.length === 0
        ? html`<${NoProjects} first=${none} />`
        : html`<${Table} caption="Projects" columns=${COLUMNS} rows=${items} rowKey=${(project) => project.id} />
          <${More} list=${list} noun="project" />`}<//>
  <//>`
}

function NoProjects({ first }) {
  if (!first) return html`<${Empty} title="No project fits"><p>Change the search or the status above.</p><//>`
  return html`<${Empty} title="Make your first project">
    <ol class="steps">
      <li><strong>Create a project.</strong> It has a budget, limits and keys of its own.</li>
      <li><strong>Create a key</strong> in it. You get a line to paste that works at once.</li>
      <li><strong>Point your program at it.</strong> The SDKs that you use go on working: only the address and the key change.</li>
    </ol>
    <${ButtonLink} href=${to('projects', 'new')} look="primary" changes>Create a project<//>
  <//>`
}
