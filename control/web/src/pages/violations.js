// A project's violations: content that the Governor reviewed, blocked or redacted.
import { patch, path } from '../api.js'
import { Bulk } from '../components/bulk.js'
import { ButtonLink } from '../components/button.js'
import { SelectField, TextField } from '../components/form.js'
import { Name } from '../components/name.js'
import { Page } from '../components/page.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { ViolationFilters, violationColumns } from '../components/violations.js'
import { timestamp } from '../format.js'
import { html } from '../html.js'
import { useAll, useList } from '../lists.js'
import { useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useSelection } from '../selection.js'
import { useViewer } from '../session.js'
import { useOrder } from '../sort.js'
import { startOf, stateLabel, transitionsOf, VERBS } from '../violations.js'

const LEAD =
  'Content that the Governor blocked or put up for review, and redactions by rules of high severity. The content itself is not stored.'
const NAMES = ['state', 'rule', 'category', 'severity', 'decision', 'model', 'key', 'from', 'to']

export function useKeyNames(project) {
  return new Map(useAll(path`projects/${project.id}/keys`, 'keys').map((key) => [key.id, key.name]))
}

export function ViolationsPage({ project }) {
  const [filters, setFilters] = useQuery(NAMES)
  const rule = useDebounced(filters.rule.trim())
  const model = useDebounced(filters.model.trim())
  const query = { ...filters, rule, model, from: startOf(filters.from), to: startOf(filters.to, 1) }
  const sorting = useOrder()
  const list = useList(path`projects/${project.id}/violations`, 'violations', query, {
    timeOf: (violation) => violation.lastAt,
    all: sorting.order !== '',
  })
  const names = useKeyNames(project)
  const viewer = useViewer()
  const selection = useSelection(list, query)
  const picks = viewer ? undefined : { ...selection, nameOf }
  const filtered = Object.values(filters).some(Boolean)
  return html`<${Page} title="Violations" of=${project.name} lead=${LEAD} actions=${html`<${Refresh} of=${list} />`}>
    <${Filters} filters=${filters} set=${setFilters} names=${names} />
    <${Loaded} of=${list} what="violations" rows=${8}>${({ items }) =>
      html`<${Listed} list=${list} noun="violation" none=${html`<${None} filtered=${filtered} project=${project} />`}>
        <${Table} ...${sorting} picks=${picks} caption="Violations, newest first" columns=${columns(project, names)} rows=${items} rowKey=${(violation) => violation.id} />
      <//>`}<//>
    ${picks && html`<${Bulk} picks=${picks} list=${list} noun="violation" actions=${bulkActions(project)} itemOf=${violationItem} atOnce=${4} />`}
  <//>`
}

const nameOf = (violation) => `${violation.rule} of ${timestamp(violation.lastAt)}`
const violationItem = (violation) =>
  html`<code>${violation.rule}</code> of ${timestamp(violation.lastAt)}, ${stateLabel(violation.state).toLowerCase()}`

/**
 * A change names the version that was shown. If someone else has changed the violation in the meantime, the change
 * fails.
 */
function bulkActions(project) {
  return Object.entries(VERBS).map(([state, label]) => ({
    label,
    done: DONE[state],
    suits: (violation) => transitionsOf(violation.state).some(([next]) => next === state),
    act: ({ id, version }) => patch(path`projects/${project.id}/violations/${id}`, { state, version }),
    effect: () => html`<p>${EFFECTS[state]} Notes stay as they are, and each change is in the audit log.</p>`,
  }))
}

const DONE = {
  acknowledged: 'acknowledged',
  resolved: 'resolved',
  false_positive: 'marked as false positives',
  open: 'reopened',
}
const EFFECTS = {
  acknowledged: 'These violations become acknowledged: someone looks into them.',
  resolved: 'These violations become resolved. A resolved one can only be reopened.',
  false_positive: 'These violations become false positives. The rules do not change, and will find the same again.',
  open: 'These violations become open again.',
}

function Filters({ filters, set, names }) {
  const keys = [['', 'Any'], ...names]
  if (filters.key && !names.has(filters.key)) keys.push([filters.key, filters.key])
  const field = (name, label, rest) => html`<${TextField} label=${label} value=${filters[name]}
    onValue=${(value) => set({ [name]: value })} ...${rest} />`
  return html`<${ViolationFilters} filters=${filters} set=${set}>
    ${field('rule', 'Rule', { placeholder: 'Exact name' })}
    ${field('model', 'Model', { placeholder: 'Exact name' })}
    <${SelectField} label="API key" options=${keys} value=${filters.key} onValue=${(key) => set({ key })} />
    ${field('from', 'From (UTC)', { type: 'date' })}
    ${field('to', 'To (UTC)', { type: 'date' })}
  <//>`
}

function None({ filtered, project }) {
  if (filtered) return html`<${Empty} title="No violations match"><p>Change the filters.</p><//>`
  return html`<${Empty} title="No violations yet">
    <p>They appear here a few seconds after the Governor reviews or blocks a request.</p>
    <${ButtonLink} href=${to('projects', project.id, 'governor')}>Open the Governor’s settings<//>
  <//>`
}

function columns(project, names) {
  const nameOf = ({ key }) => names.get(key) ?? key
  return violationColumns(() => project, {
    label: 'API key',
    sort: nameOf,
    cell: (violation) =>
      html`<${Name} text=${nameOf(violation)} href=${to('projects', project.id, 'keys', violation.key)} />`,
  })
}
