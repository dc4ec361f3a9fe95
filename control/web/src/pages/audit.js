// The audit log: sign-ins and changes.
import { actionText, changesOf } from '../audit-text.js'
import { SelectField } from '../components/form.js'
import { GroupLink } from '../components/groups.js'
import { Id, WithIds } from '../components/ids.js'
import { Name } from '../components/name.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Refresh, Time } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { html } from '../html.js'
import { entryOf, hrefOf } from '../ids.js'
import { useAll, useList } from '../lists.js'
import { to, useQuery } from '../router.js'

const ACTIONS = [
  ['', 'All'],
  ['project', 'Projects'],
  ['group', 'Groups'],
  ['key', 'API keys'],
  ['provider_key', 'Provider keys'],
  ['governor', 'Governor'],
  ['violation', 'Violations'],
  ['registry', 'Model registry'],
  ['session', 'Sign-ins'],
]

export function AuditPage() {
  const [{ project, action }, setQuery] = useQuery(['project', 'action'])
  const list = useList('audit', 'entries', { project, action }, { timeOf: (entry) => entry.time })
  const names = new Map(useAll('projects', 'projects').map((p) => [p.id, p.name]))
  const options = [['', 'All projects'], ...names]
  if (project && !names.has(project)) options.push([project, project])
  return html`<${Page} title="Audit log" actions=${html`<${Refresh} of=${list} />`}>
    <form class="filters" role="search" aria-label="Audit log" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label="Project" options=${options} value=${project} onValue=${(value) => setQuery({ project: value })} />
      <${SelectField} label="Event type" options=${ACTIONS} value=${action} onValue=${(value) => setQuery({ action: value })} />
    </form>
    <${Loaded} of=${list} what="the audit log" rows=${8}>${({ items }) =>
      html`<${Listed} list=${list} noun="entry" nouns="entries" none=${html`<${NoEntries} filtered=${project || action} />`}>
        <${Table} caption="Audit log, newest first" columns=${columns(names)} rows=${items} rowKey=${(entry) => entry.id} />
      <//>`}<//>
  <//>`
}

function NoEntries({ filtered }) {
  if (filtered) return html`<${Empty} title="No entries match"><p>Change the filters.</p><//>`
  return html`<${Empty} title="No entries yet"><p>Sign-ins and changes to projects and keys appear here.</p><//>`
}

function columns(names) {
  return [
    { label: 'Time', time: true, head: true, cell: (entry) => html`<${Time} at=${entry.time} />` },
    {
      label: 'Actor',
      cell: (entry) =>
        html`<${WithIds} text=${entry.actor} project=${entry.project} /> <span class="muted">${[entry.role !== entry.actor && entry.role !== 'none' && entry.role, entry.via].filter(Boolean).join(', ')}</span>`,
    },
    { label: 'Action', cell: (entry) => actionText(entry.action) },
    { label: 'Resource', cell: (entry) => html`<${Subject} entry=${entry} names=${names} />` },
    { label: 'Changes', cell: (entry) => html`<${Changes} entry=${entry} />` },
    { label: 'IP address', cell: (entry) => html`<span class="muted">${entry.address ?? '–'}</span>` },
  ]
}

function Subject({ entry, names }) {
  const group = entry.after?.groupId ?? entry.before?.groupId
  if (!entry.project && group) return html`<${GroupLink} id=${group} name=${entry.after?.name ?? entry.before?.name} />`
  if (!entry.project) return html`<span class="muted">–</span>`
  const project = html`<${Name} text=${names.get(entry.project) ?? entry.project} href=${to('projects', entry.project)} />`
  const { violation, model } = entry.after ?? {}
  if (violation) return html`${project}, violation <${Id} id=${violation} project=${entry.project} look="id short" />`
  if (model && entry.action.startsWith('registry.')) {
    return html`${project}, model <${Name} text=${model} href=${hrefOf(entryOf(model), entry.project)} />`
  }
  if (!entry.key) return project
  const name = entry.after?.name ?? entry.before?.name ?? entry.key
  return html`${project}, key <${Name} text=${name} href=${to('projects', entry.project, 'keys', entry.key)} />`
}

function Changes({ entry }) {
  const changes = changesOf(entry)
  if (changes.length === 0) return html`<span class="muted">–</span>`
  return html`<ul class="changes">${changes.map(
    ({ field, before, after }) =>
      html`<li key=${field}><span class="muted">${field}:</span> ${
        before !== null && html`<del><${WithIds} text=${before} project=${entry.project} /></del>`
      }${before !== null && after !== null && html`<span class="visually-hidden"> changed to </span><span aria-hidden="true"> → </span>`}${after !== null && html`<ins><${WithIds} text=${after} project=${entry.project} /></ins>`}</li>`,
  )}</ul>`
}
