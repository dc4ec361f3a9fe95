// The Governor's rules by category: the actions of each category and of single rules.
import { useState } from 'preact/hooks'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { TextField } from '../components/form.js'
import { Card } from '../components/page.js'
import { Table } from '../components/table.js'
import { plural } from '../format.js'
import { actionOf, actionsFor, CATEGORIES, withAction } from '../governor.js'
import { html } from '../html.js'

const SEVERITY_LOOKS = { high: 'warn', critical: 'bad' }
const DIRECTIONS = [
  ['input', 'Input'],
  ['system', 'System'],
  ['output', 'Output'],
]
// Lengths concern a whole request, which has no role.
const directionsOf = (category) => DIRECTIONS.filter(([direction]) => direction !== 'system' || category !== 'length')

export function Severity({ of: severity }) {
  return html`<${Badge} of=${severity} look=${SEVERITY_LOOKS[severity] ?? ''} />`
}

export function RulesCard({ draft, change, rules }) {
  const [search, setSearch] = useState('')
  const words = search.trim().toLowerCase()
  const set = (name, direction) => (action) => change({ rules: withAction(draft.rules, name, direction, action) })
  return html`<${Card} title="Rules">
    <p class="muted">Allow does nothing, flag adds points to the risk score, redact replaces the text by a placeholder, block rejects. Input is what callers send, output what models answer. System is for system texts and tool definitions, which otherwise have the action of input.</p>
    <${TextField} label="Search rules" type="search" value=${search} onValue=${setSearch} placeholder="email, token, iban" />
    ${CATEGORIES.map(
      ([name, label]) => html`<${Category} key=${name} ...${{ name, label, words, set, overrides: draft.rules }}
        rules=${rules.filter((rule) => rule.category === name)} />`,
    )}
  <//>`
}

function Category({ name, label, words, set, overrides, rules }) {
  const [open, setOpen] = useState(false)
  const found = words === '' ? rules : rules.filter((rule) => rule.name.includes(words))
  const changed = rules.filter((rule) => overrides[rule.name]).length
  if (rules.length === 0) return null
  const shown = found.length > 0 && (open || words !== '')
  return html`<section class="rule-group" aria-label=${label}>
    <div class="rule-head">
      <h3>${label} <span class="muted">${plural(rules.length, 'rule')}${changed > 0 && `, ${changed} changed`}</span></h3>
      ${directionsOf(name).map(
        ([
          direction,
          word,
        ]) => html`<${ActionSelect} key=${direction} label=${word} of=${label} value=${overrides[name]?.[direction] ?? ''}
          inherited=${direction === 'system' ? actionOf({ [name]: { ...overrides[name], system: undefined } }, rules[0], 'input') : rules[0][direction]}
          origin=${direction === 'system' ? 'As input' : 'Default'} actions=${actionsFor(name)} onValue=${set(name, direction)} />`,
      )}
      <${Button} look="small" aria-expanded=${shown ? 'true' : 'false'} disabled=${words !== ''} onClick=${() => setOpen(!open)}>
        ${shown ? 'Hide' : 'Show'} rules<span class="visually-hidden"> of ${label}</span><//>
    </div>
    ${shown && html`<${Table} caption=${`Rules: ${label}`} columns=${columns(name, overrides, set)} rows=${found} rowKey=${(rule) => rule.name} />`}
    ${words !== '' && found.length === 0 && html`<p class="muted">No rules match</p>`}
  </section>`
}

/** The overrides that apply if a rule has no override of its own in the given direction. */
function inheritedBy(rule, overrides, direction) {
  const own = direction === 'system' ? { [rule.name]: { ...overrides[rule.name], system: undefined } } : {}
  return { [rule.category]: overrides[rule.category], ...own }
}

function columns(category, overrides, set) {
  return [
    {
      label: 'Rule',
      head: true,
      cell: (rule) => html`<code>${rule.name}</code>${overrides[rule.name] && html` <${Badge} of="changed" />`}`,
    },
    { label: 'Severity', cell: (rule) => html`<${Severity} of=${rule.severity} />` },
    { label: 'Points', num: true, cell: (rule) => rule.points },
    ...directionsOf(category).map(([direction, label]) => ({
      label,
      cell: (
        rule,
      ) => html`<${ActionSelect} label=${label} hidden of=${rule.name} value=${overrides[rule.name]?.[direction] ?? ''}
        inherited=${actionOf(inheritedBy(rule, overrides, direction), rule, direction)} origin="Category"
        actions=${actionsFor(category)} onValue=${set(rule.name, direction)} />`,
    })),
  ]
}

/** A select field for actions. The first option keeps the action of the category or the default. */
function ActionSelect({ label, of, hidden = false, value, inherited, origin, actions, onValue }) {
  const options = [['', `${origin}: ${inherited}`], ...actions.map((action) => [action, action])]
  return html`<label class="action-select">
    <span class=${hidden ? 'visually-hidden' : ''}>${label}<span class="visually-hidden"> of ${of}</span></span>
    <select value=${value} onChange=${(event) => onValue(event.target.value)}>
      ${options.map(([name, text]) => html`<option value=${name} key=${name} selected=${name === value}>${text}</option>`)}
    </select>
  </label>`
}
