// The model registry: the models that a project may use and their approvals.
import { useState } from 'preact/hooks'
import { get, path, put } from '../api.js'
import { Badge } from '../components/badge.js'
import { Button, ButtonLink } from '../components/button.js'
import { Form, FormError, SelectField, TextField, wrongWith } from '../components/form.js'
import { Name } from '../components/name.js'
import { Card, Page } from '../components/page.js'
import { Empty, Loaded, Refresh, Time } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { notify } from '../notices.js'
import { ENFORCEMENT, RISK_TIERS, STATES } from '../registry.js'
import { useAction, useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'

const LEAD = 'Models are listed as discovered when they are first used. Approve, restrict or retire them here.'
const LOOKS = {
  discovered: 'warn',
  pending: 'warn',
  approved: 'good',
  restricted: 'good',
  deprecated: 'warn',
  retired: 'bad',
  blocked: 'bad',
}

export function EntryState({ of: state }) {
  return html`<${Badge} of=${state} look=${LOOKS[state] ?? ''} />`
}

export function riskTier(tier) {
  return RISK_TIERS.find(([name]) => name === (tier ?? ''))?.[1] ?? tier
}

export function RegistryPage({ project, setProject }) {
  const [filters, setFilters] = useQuery(['q', 'state'])
  const q = useDebounced(filters.q.trim())
  const sorting = useOrder()
  const query = { state: filters.state, q }
  const list = useList(path`projects/${project.id}/models-registry`, 'models', query, { all: sorting.order !== '' })
  const create = html`<${ButtonLink} href=${to('projects', project.id, 'registry', 'new')} look="primary" changes>Add model<//>`
  const actions = html`<${Refresh} of=${list} />${create}`
  return html`<${Page} title="Model registry" of=${project.name} lead=${LEAD} actions=${actions}>
    <${Loaded} of=${list} what="the registry" rows=${6}>${({ items, last }) => html`
      <${Enforcement} project=${project} view=${last} reload=${list.reload} setProject=${setProject} />
      <form class="filters" role="search" aria-label="Models" onSubmit=${(event) => event.preventDefault()}>
        <${TextField} label="Search by model" type="search" value=${filters.q} onValue=${(q) => setFilters({ q })} />
        <${SelectField} label="State" options=${[['', 'Any'], ...STATES.map((state) => [state, state])]} value=${filters.state}
          onValue=${(state) => setFilters({ state })} />
      </form>
      <${Entries} ...${{ project, list, items, filters, create, sorting }} />`}<//>
  <//>`
}

function Entries({ project, list, items, filters, create, sorting }) {
  if (items.length === 0 && !list.data.next && !filters.state && !filters.q) {
    return html`<${Empty} title="No models yet"><p>A model appears here after its first request. You can also add one before.</p>${create}<//>`
  }
  const none = html`<${Empty} title="No models match"><p>Change the search or the filter.</p><//>`
  return html`<${Listed} list=${list} noun="model" none=${none}><${Table} ...${sorting} caption="Models" columns=${columns(project)} rows=${items} rowKey=${(entry) => entry.id} />
    <//>`
}

function columns(project) {
  return [
    {
      label: 'Model',
      sort: (entry) => entry.model,
      head: true,
      cell: (entry) => html`<${Name} text=${entry.model} href=${to('projects', project.id, 'registry', entry.id)} />`,
    },
    {
      label: 'State',
      sort: (entry) => STATES.indexOf(entry.state),
      cell: (entry) => html`<${EntryState} of=${entry.state} />`,
    },
    {
      label: 'Risk tier',
      sort: (entry) => RISK_TIERS.findIndex(([tier]) => tier === (entry.riskTier ?? '')),
      cell: (entry) => riskTier(entry.riskTier),
    },
    { label: 'Owner', sort: (entry) => entry.owner, cell: (entry) => entry.owner || '–' },
    {
      label: 'Review date',
      sort: (entry) => entry.reviewDate,
      cell: (entry) =>
        html`<span class="nowrap">${entry.reviewDate?.slice(0, 10) ?? '–'}</span>${entry.reviewOverdue && html` <${Badge} of="overdue" look="bad" />`}`,
    },
    {
      label: 'Requests in 90 days',
      title: 'Served requests, also from the cache',
      num: true,
      sort: (entry) => entry.requests ?? 0,
      cell: (entry) => count(entry.requests ?? 0),
    },
    {
      label: 'Updated',
      time: true,
      sort: (entry) => entry.updatedAt,
      cell: (entry) => html`<${Time} at=${entry.updatedAt} />`,
    },
  ]
}

function Enforcement({ project, view: { enforcement, delivery }, reload, setProject }) {
  const [selected, select] = useState(null)
  const value = selected ?? enforcement
  const { busy, error, run } = useAction(async () => {
    const saved = await put(path`projects/${project.id}/models-registry/enforcement`, { enforcement: value })
    setProject(await get(path`projects/${project.id}`)) // the project has a new version
    select(null)
    notify(saved.delivery === 'pending' ? 'Enforcement saved. Some keys get it within minutes.' : 'Enforcement saved')
    reload()
  })
  return html`<${Card} title="Enforcement"><${Form} onSubmit=${run} edited=${value !== enforcement}>
    <${SelectField} label="Enforcement of the registry" options=${ENFORCEMENT} value=${value} onValue=${select} wrong=${wrongWith(error, 'enforcement')} />
    ${delivery === 'pending' && html`<p class="warning" role="status">The last change has not reached all keys yet. It will within minutes.</p>`}
    <${FormError} error=${error} shown=${['enforcement']} />
    <div class="buttons"><${Button} look="primary" type="submit" changes busy=${busy} idle=${value === enforcement}>Save enforcement<//></div>
  <//><//>`
}
