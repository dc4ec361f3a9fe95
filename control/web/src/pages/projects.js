// The list of projects with their settings.
import { Badge } from '../components/badge.js'
import { ButtonLink } from '../components/button.js'
import { SelectField, TextField } from '../components/form.js'
import { Id } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Time } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { useCatalog, useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'
import { perPeriod } from '../values.js'

const STATUSES = [
  ['active', 'Active'],
  ['archived', 'Archived'],
  ['all', 'All'],
]

/** Says that a budget is the plan's default, or that it blocks everything that costs money. */
function budgetNote({ budget, plan }, defaults) {
  if (budget === 0) return 'nothing that costs'
  return budget === defaults.get(plan) ? 'the plan’s default' : ''
}

const columns = (defaults) => [
  {
    label: 'Name',
    sort: (project) => project.name,
    head: true,
    cell: (project) => html`<${Name} text=${project.name} href=${to('projects', project.id)} />`,
  },
  { label: 'Status', sort: (project) => project.status, cell: (project) => html`<${Badge} of=${project.status} />` },
  { label: 'Plan', sort: (project) => project.plan, cell: (project) => project.plan },
  {
    label: 'Budget',
    sort: (project) => project.budget,
    num: true,
    cell: (project) => {
      const note = budgetNote(project, defaults)
      return html`<${Money} of=${project.budget} /> ${perPeriod(project.budgetPeriod)}${note && html`<span class="under">${note}</span>`}`
    },
  },
  {
    label: 'Created',
    time: true,
    sort: (project) => project.createdAt,
    cell: (project) => html`<${Time} at=${project.createdAt} />`,
  },
  { label: 'ID', cell: (project) => html`<${Id} id=${project.id} />` },
]

export function ProjectsPage() {
  const [filters, setFilters] = useQuery(['status', 'q'])
  const status = filters.status || 'active'
  const q = useDebounced(filters.q)
  const sorting = useOrder()
  const all = sorting.order !== ''
  const query = { status: status === 'all' ? '' : status, q }
  const list = useList('projects', 'projects', query, { timeOf: (project) => project.createdAt, all })
  const { data: catalog } = useCatalog()
  const defaults = new Map(catalog?.plans.map((plan) => [plan.name, plan.budget]))
  const unfiltered = !filters.q && status === 'active'
  return html`<${Page} title="Projects" actions=${html`<${ButtonLink} href=${to('projects', 'new')} look="primary" changes>Create project<//>`}>
    <form class="filters" role="search" aria-label="Projects" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Search by name" type="search" value=${filters.q} onValue=${(value) => setFilters({ q: value })} />
      <${SelectField} label="Status" options=${STATUSES} value=${status}
        onValue=${(value) => setFilters({ status: value === 'active' ? '' : value })} />
    </form>
    <${Loaded} of=${list} what="projects">${({ items }) =>
      html`<${Listed} list=${list} noun="project" none=${html`<${NoProjects} first=${unfiltered} />`}>
        <${Table} ...${sorting} caption="Projects" columns=${columns(defaults)} rows=${items} rowKey=${(project) => project.id} />
      <//>`}<//>
  <//>`
}

function NoProjects({ first }) {
  if (first) return html`<${FirstProject} />`
  return html`<${Empty} title="No projects match"><p>Change the search or the status filter.</p><//>`
}

/** Says what to do in a deployment without projects. */
export function FirstProject() {
  return html`<${Empty} title="Create your first project">
    <ol class="steps">
      <li><strong>Create a project.</strong> A project has its own budget, limits and API keys.</li>
      <li><strong>Create an API key.</strong> You get a curl command that works right away.</li>
      <li><strong>Point your app at Postern.</strong> Keep your SDK: change only the base URL and the API key.</li>
    </ol>
    <${ButtonLink} href=${to('projects', 'new')} look="primary" changes>Create a project<//>
  <//>`
}
