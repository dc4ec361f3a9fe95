// The audit log: sign-ins and changes.
import { get } from '../api.js'
import { actionText, changesOf } from '../audit-text.js'
import { SelectField } from '../components/form.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Refresh, Time } from '../components/states.js'
import { More, Table } from '../components/table.js'
import { html } from '../html.js'
import { useList, useResource } from '../resource.js'
import { to, useQuery } from '../router.js'

const MAX_PROJECTS = 100
const ACTIONS = [
  ['', 'All'],
  ['project', 'Projects'],
  ['key', 'API keys'],
  ['provider_key', 'Provider keys'],
  ['governor', 'Governor'],
  ['violation', 'Violations'],
  ['registry', 'Model registry'],
  ['session', 'Sign-ins'],
]

export function AuditPage() {
  const [{ project, action }, setQuery] = useQuery(['project', 'action'])
  const list = useList('audit', 'entries', { project, action })
  const projects = useResource((signal) => get('projects', { query: { limit: MAX_PROJECTS }, signal }), [])
  const names = new Map((projects.data?.projects ?? []).map((p) => [p.id, p.name]))
  const options = [['', 'All projects'], ...names]
  if (project && !names.has(project)) options.push([project, project])
  return html`<${Page} title="Audit log" actions=${html`<${Refresh} of=${list} />`}>
    <form class="filters" role="search" aria-label="Audit log" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label="Project" options=${options} value=${project} onValue=${(value) => setQuery({ project: value })} />
      <${SelectField} label="Event type" options=${ACTIONS} value=${action} onValue=${(value) => setQuery({ action: value })} />
    </form>
    <${Loaded} of=${list} what="the audit log" rows=${8}>${({ items }) =>
      items.length === 0
        ? html`<${NoEntries} filtered=${project || action} />`
        : html`<${Table} caption="Audit log, newest first" columns=${columns(names)} rows=${items} rowKey=${(entry) => entry.id} />
          <${More} list=${list} noun="entry" nouns="entries" />`}<//>
  <//>`
}

function NoEntries({ filtered }) {
  if (filtered) return html`<${Empty} title="No entries match"><p>Change the filters.</p><//>`
  return html`<${Empty} title="No entries yet"><p>Sign-ins and changes to projects and keys appear here.</p><//>`
}

function columns(names) {
  return [
    { label: 'Time (UTC)', head: true, cell: (entry) => html`<${Time} at=${entry.time} />` },
    {
      label: 'Actor',
      cell: (entry) =>
        html`${entry.actor} <span class="muted">${[entry.role !== entry.actor && entry.role !== 'none' && entry.role, entry.via].filter(Boolean).join(', ')}</span>`,
    },
    { label: 'Action', cell: (entry) => actionText(entry.action) },
    { label: 'Resource', cell: (entry) => html`<${Subject} entry=${entry} names=${names} />` },
    { label: 'Changes', wide: true, cell: (entry) => html`<${Changes} entry=${entry} />` },
    { label: 'IP address', cell: (entry) => html`<span class="muted">${entry.address ?? '–'}</span>` },
  ]
}

function Subject({ entry, names }) {
  if (!entry.project) return html`<span class="muted">–</span>`
  const project = html`<a href=${to('projects', entry.project)}>${names.get(entry.project) ?? entry.project}</a>`
  if (!entry.key) return project
  const name = entry.after?.name ?? entry.before?.name ?? entry.key
  return html`${project}, key <a href=${to('projects', entry.project, 'keys', entry.key)}>${name}</a>`
}

function Changes({ entry }) {
  const changes = changesOf(entry)
  if (changes.length === 0) return html`<span class="muted">–</span>`
  return html`<ul class="changes">${changes.map(
    ({ field, before, after }) =>
      html`<li key=${field}><span class="muted">${field}:</span> ${
        before !== null && html`<del>${before}</del>`
      }${before !== null && after !== null && html`<span class="visually-hidden"> changed to </span><span aria-hidden="true"> → </span>`}${after !== null && html`<ins>${after}</ins>`}</li>`,
  )}</ul>`
}
