// A project's API keys.
import { useState } from 'preact/hooks'
import { path, post, remove } from '../api.js'
import { Badge } from '../components/badge.js'
import { Bulk } from '../components/bulk.js'
import { Button, ButtonLink } from '../components/button.js'
import { SelectField, TextField } from '../components/form.js'
import { Name } from '../components/name.js'
import { focusHeading, Page } from '../components/page.js'
import { Empty, Loaded, Time } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { masked } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useSelection } from '../selection.js'
import { useViewer } from '../session.js'
import { useOrder } from '../sort.js'
import { KeyDialog } from './key-dialogs.js'

const any = (label) => [['', label]]
const FILTERS = [
  ['status', 'Status', [...any('Any'), ['active', 'Active'], ['inactive', 'Inactive'], ['expired', 'Expired']]],
  ['kind', 'Kind', [...any('Any'), ['gateway', 'Gateway'], ['project', 'Project']]],
  ['environment', 'Environment', [...any('Any'), ['production', 'Production'], ['development', 'Development']]],
]

export function KeysPage({ project }) {
  const [filters, setFilters] = useQuery(['q', 'status', 'kind', 'environment'])
  const [dialog, setDialog] = useState(null)
  const q = useDebounced(filters.q)
  const sorting = useOrder()
  const all = sorting.order !== ''
  const query = { ...filters, q }
  const list = useList(path`projects/${project.id}/keys`, 'keys', query, { timeOf: (key) => key.createdAt, all })
  const viewer = useViewer()
  const selection = useSelection(list, query)
  const picks = viewer ? undefined : { ...selection, nameOf: (key) => key.name }
  const done = (kind) => {
    if (kind === 'delete') focusHeading()
    list.reload()
  }
  const filtered = Object.values(filters).some(Boolean)
  const create = html`<${ButtonLink} href=${to('projects', project.id, 'keys', 'new')} look="primary" changes>Create key<//>`
  return html`<${Page} title="API keys" of=${project.name} actions=${create}>
    <form class="filters" role="search" aria-label="API keys" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Search by name" type="search" value=${filters.q} onValue=${(value) => setFilters({ q: value })} />
      ${FILTERS.map(
        ([
          name,
          label,
          options,
        ]) => html`<${SelectField} key=${name} label=${label} options=${options} value=${filters[name]}
          onValue=${(value) => setFilters({ [name]: value })} />`,
      )}
    </form>
    <${Loaded} of=${list} what="API keys">${({ items }) =>
      html`<${Listed} list=${list} noun="key" none=${html`<${NoKeys} filtered=${filtered} create=${create} />`}>
        <${Table} ...${sorting} picks=${picks} caption=${`API keys of ${project.name}`} columns=${columns(project, setDialog)} rows=${items} rowKey=${(key) => key.id} />
      <//>`}<//>
    ${picks && html`<${Bulk} picks=${picks} list=${list} noun="key" actions=${bulkActions(project)} itemOf=${keyItem} />`}
    ${dialog && html`<${KeyDialog} project=${project} dialog=${dialog} onClose=${() => setDialog(null)} onDone=${done} />`}
  <//>`
}

function NoKeys({ filtered, create }) {
  if (filtered) return html`<${Empty} title="No keys match"><p>Change the search or the filters.</p><//>`
  return html`<${Empty} title="No API keys yet">
    <p>Create a key to send requests. Their cost is charged to this project’s budget.</p>
    ${create}
  <//>`
}

function columns(project, open) {
  return [
    {
      label: 'Name',
      sort: (key) => key.name,
      head: true,
      cell: (key) => html`<${Name} text=${key.name} href=${to('projects', project.id, 'keys', key.id)} />`,
    },
    { label: 'Key', cell: (key) => html`<code>${masked(key)}</code>` },
    {
      label: 'Kind',
      sort: (key) => `${key.kind} ${key.environment}`,
      cell: (key) => html`${key.kind}<span class="under">${key.environment}</span>`,
    },
    {
      label: 'Status',
      sort: (key) => key.status,
      cell: (key) => html`<${Badge} of=${key.status} />${key.replacedBy && html` <${Badge} of="replaced" />`}`,
    },
    { label: 'Last used', sort: (key) => key.lastUsedAt, cell: (key) => html`<${LastUsed} of=${key} />` },
    {
      label: 'Expires',
      sort: (key) => key.expiresAt,
      cell: (key) =>
        key.expiresAt ? html`<${Time} at=${key.expiresAt} ago />` : html`<span class="muted">never</span>`,
    },
    { label: 'Actions', actions: true, cell: (key) => html`<${KeyActions} row=${key} open=${open} />` },
  ]
}

const keyItem = (key) => html`<strong>${key.name}</strong> <code>${masked(key)}</code>`
const isInactive = (key) => key.status === 'inactive'

/** Every change of a key is a commit in its project, so two concurrent changes would only get in each other's way. */
function bulkActions(project) {
  const at = (key) => path`projects/${project.id}/keys/${key.id}`
  return [
    {
      label: 'Deactivate',
      done: 'deactivated',
      suits: (key) => !isInactive(key),
      act: (key) => post(`${at(key)}/deactivate`),
      effect: () => html`<p>Requests with these keys are rejected with 401 until you reactivate them.</p>`,
    },
    {
      label: 'Reactivate',
      done: 'reactivated',
      suits: isInactive,
      act: (key) => post(`${at(key)}/reactivate`),
      effect: () => html`<p>Requests with these keys are accepted again.</p>`,
    },
    {
      label: 'Delete',
      done: 'deleted',
      look: 'danger',
      suits: () => true,
      act: (key) => remove(at(key)),
      effect: (keys) =>
        html`<p>This permanently deletes these keys${activeAmong(keys)}. Requests with them are rejected with 401; their usage stays in reports. If you may need them again, deactivate them instead.</p>`,
    },
  ]
}

function activeAmong(keys) {
  const active = keys.filter(({ status }) => status === 'active').length
  return active > 0 && html`, <strong>${active === keys.length ? 'all' : active} of them active</strong>`
}

/** The last use of a key. Only model requests record it, and project keys cannot make any. */
export function LastUsed({ of: key }) {
  if (key.kind === 'project') return html`<span class="muted">not recorded</span>`
  return html`<${Time} at=${key.lastUsedAt} ago />`
}

/** The buttons for a key, with the key's name for screen readers. */
export function KeyActions({ row, open }) {
  const button = (
    kind,
    label,
    look = '',
  ) => html`<${Button} look=${`small ${look}`} changes onClick=${() => open({ kind, key: row })}>
    ${label}<span class="visually-hidden"> ${row.name}</span><//>`
  return html`<span class="row-actions">
    ${row.status === 'inactive' ? button('reactivate', 'Reactivate') : button('deactivate', 'Deactivate')}
    ${button('rotate', 'Rotate')} ${button('delete', 'Delete', 'danger-text')}
  </span>`
}
