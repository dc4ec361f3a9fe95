// The columns and filters of violation lists.
import { count } from '../format.js'
import { ALL_CATEGORIES, SEVERITIES } from '../governor.js'
import { html } from '../html.js'
import { hrefOf } from '../ids.js'
import { Severity } from '../pages/governor-rules.js'
import { Decision } from '../pages/governor-try.js'
import { STATES, stateLabel } from '../violations.js'
import { Badge } from './badge.js'
import { SelectField } from './form.js'
import { ModelName } from './ids.js'
import { Time } from './states.js'

const LOOKS = { open: 'bad', acknowledged: 'warn', resolved: 'good', false_positive: '' }
const any = (values) => [['', 'Any'], ...values.map((value) => [value, value])]

export function State({ of: state }) {
  return html`<${Badge} of=${stateLabel(state)} look=${LOOKS[state] ?? ''} />`
}

const CHOICES = [
  ['state', 'State', [['', 'Any'], ...STATES]],
  ['category', 'Category', any(ALL_CATEGORIES)],
  ['severity', 'Severity', any(SEVERITIES)],
  ['decision', 'Decision', any(['redact', 'review', 'block'])],
]

/**
 * The filters that have few values. Other filters are passed as children.
 * @param {{filters: object, set: (changes: object) => void, children?: any}} props
 */
export function ViolationFilters({ filters, set, children }) {
  return html`<form class="filters" role="search" aria-label="Violations" onSubmit=${(event) => event.preventDefault()}>
    ${CHOICES.map(
      ([
        name,
        label,
        options,
      ]) => html`<${SelectField} key=${name} label=${label} options=${options} value=${filters[name]}
        onValue=${(value) => set({ [name]: value })} />`,
    )}
    ${children}
  </form>`
}

/**
 * The columns of a violation list.
 * @param {(violation: object) => {id: string}} projectOf
 * @param {object} key the column of the API key
 * @param {object[]} [first] columns after the time
 */
export const violationColumns = (projectOf, key, first = []) => [
  {
    label: 'Last seen',
    time: true,
    sort: (violation) => violation.lastAt,
    head: true,
    cell: (violation) =>
      html`<a href=${hrefOf(violation.id, projectOf(violation).id)}><${Time} at=${violation.lastAt} /></a>`,
  },
  ...first,
  {
    label: 'Rule',
    sort: (violation) => violation.rule,
    cell: (violation) => html`<code>${violation.rule}</code><span class="under">${violation.category}</span>`,
  },
  {
    label: 'Severity',
    sort: (violation) => SEVERITIES.indexOf(violation.severity),
    cell: (violation) => html`<${Severity} of=${violation.severity} />`,
  },
  {
    label: 'Decision',
    sort: (violation) => violation.decision,
    cell: (violation) =>
      html`<${Decision} of=${violation.decision} /><span class="under">${violation.direction}</span>`,
  },
  { label: 'Count', num: true, sort: (violation) => violation.count, cell: (violation) => count(violation.count) },
  {
    label: 'Model',
    sort: (violation) => violation.model,
    cell: (violation) => html`<${ModelName} of=${violation.model} />`,
  },
  key,
  {
    label: 'State',
    sort: (violation) => STATES.findIndex(([state]) => state === violation.state),
    cell: (violation) => html`<${State} of=${violation.state} />`,
  },
]
