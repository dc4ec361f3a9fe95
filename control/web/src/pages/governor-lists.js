// The project's own rules: keyword lists and patterns.
import { useRef } from 'preact/hooks'
import { Button } from '../components/button.js'
import { CheckField, SelectField, TextField, wrongWith } from '../components/form.js'
import { Card } from '../components/page.js'
import { plural } from '../format.js'
import { ACTIONS, linesOf, newExemption, newList, newPattern, SEVERITIES } from '../governor.js'
import { html } from '../html.js'
import { notify } from '../notices.js'

const MAX_ENTRIES = 32
const MAX_EXEMPTIONS = 100
const KINDS = [
  ['value', 'This value'],
  ['pattern', 'What matches a pattern'],
]
export const words = (values) => values.map((value) => [value, value])
const SYSTEM_ACTIONS = [['', 'As input'], ...words(ACTIONS)]

export function KeywordsCard({ draft, change, error }) {
  return html`<${Card} title="Keyword lists">
    <p class="muted">Words and phrases that are findings wherever they appear as whole words.</p>
    <${Entries} noun="keyword list" field="keywords" entries=${draft.keywords} error=${error} make=${newList}
      onValue=${(keywords) => change({ keywords })} of=${KeywordList} />
  <//>`
}

export function PatternsCard({ draft, change, error }) {
  return html`<${Card} title="Patterns">
    <p class="muted">Regular expressions in RE2 syntax. They match in linear time, so look-around and back-references are not available.</p>
    <${Entries} noun="pattern" field="patterns" entries=${draft.patterns} error=${error} make=${newPattern}
      onValue=${(patterns) => change({ patterns })} of=${PatternFields} />
  <//>`
}

export function ExemptionsCard({ draft, change, error }) {
  return html`<${Card} title="Exemptions">
    <p class="muted">Texts that rules find and that are harmless. An exemption counts only if it matches the whole finding.</p>
    <${CheckField} label="Exempt addresses that coding agents send in their own prompts" value=${draft.exemptAgentAddresses}
      onValue=${(exemptAgentAddresses) => change({ exemptAgentAddresses })} wrong=${wrongWith(error, 'exemptAgentAddresses')}
      hint="Such as noreply@anthropic.com, for the rule personal.email." />
    <${Entries} noun="exemption" field="exemptions" most=${MAX_EXEMPTIONS} entries=${draft.exemptions} error=${error} make=${newExemption}
      onValue=${(exemptions) => change({ exemptions })} of=${Exemption} />
  <//>`
}

/** A list of entries with buttons to add and remove them. */
function Entries({ noun, field, most = MAX_ENTRIES, entries, error, make, onValue, of: Entry }) {
  const frame = useRef(null)
  const set = (i) => (changes) => onValue(entries.map((entry, j) => (i === j ? { ...entry, ...changes } : entry)))
  const remove = (i) => {
    onValue(entries.filter((_, j) => i !== j))
    notify(`${nameOf(entries[i]) || `Empty ${noun}`} removed`)
    frame.current.focus()
  }
  const whole = error?.details?.find((detail) => detail.field === field)
  return html`<div class="entries" role="group" aria-label=${`${noun}s`} tabindex="-1" ref=${frame}>
    ${entries.map(
      (entry, i) => html`<fieldset class="entry" key=${entry.id}>
        <legend>${nameOf(entry) || `New ${noun}`}</legend>
        <${Entry} entry=${entry} set=${set(i)} wrong=${(name) => wrongWith(error, `${field}[${i}].${name}`)} />
        <${Button} look="small danger-text" changes onClick=${() => remove(i)}>Remove<span class="visually-hidden"> ${noun} ${nameOf(entry)}</span><//>
      </fieldset>`,
    )}
    ${whole && html`<p class="field-error" role="alert">${whole.message}</p>`}
    <${Button} changes disabled=${entries.length >= most} onClick=${() => onValue([...entries, make()])}>Add ${noun}<//>
  </div>`
}

const nameOf = (entry) => entry.name ?? entry.text

function Exemption({ entry, set, wrong }) {
  return html`<div class="columns">
    <${SelectField} label="Exempt" options=${KINDS} value=${entry.kind} onValue=${(kind) => set({ kind })} />
    <${TextField} label=${entry.kind === 'value' ? 'Value' : 'Pattern'} spellcheck=${false} maxlength=${entry.kind === 'value' ? 320 : 512} value=${entry.text}
      onValue=${(text) => set({ text })} wrong=${wrong(entry.kind)} placeholder=${entry.kind === 'value' ? 'support@example.com' : 'EMP-0+'} />
    <${TextField} label="Only for the rule" spellcheck=${false} maxlength="64" value=${entry.rule} onValue=${(rule) => set({ rule })}
      wrong=${wrong('rule')} placeholder="personal.email" hint="Empty: for every rule." />
  </div>`
}

function KeywordList({ entry, set, wrong }) {
  return html`
    <${Weights} entry=${entry} set=${set} wrong=${wrong} />
    <${CheckField} label="Match case" value=${entry.matchCase} onValue=${(matchCase) => set({ matchCase })} wrong=${wrong('matchCase')} />
    <${TextField} label="Words, one per line" multiline rows="4" spellcheck=${false} value=${entry.words} onValue=${(value) => set({ words: value })}
      wrong=${wrong('words')} hint=${plural(linesOf(entry.words).length, 'word')} />`
}

function PatternFields({ entry, set, wrong }) {
  return html`
    <${Weights} entry=${entry} set=${set} wrong=${wrong} />
    <${TextField} label="Pattern" spellcheck=${false} maxlength="500" value=${entry.pattern} onValue=${(pattern) => set({ pattern })}
      wrong=${wrong('pattern')} placeholder="EMP-[0-9]{6}" />`
}

function Weights({ entry, set, wrong }) {
  return html`
    <${TextField} label="Name" maxlength="32" spellcheck=${false} value=${entry.name} onValue=${(name) => set({ name })} wrong=${wrong('name')}
      hint="Lowercase letters, digits and hyphens." />
    <div class="columns">
      <${SelectField} label="Severity" options=${words(SEVERITIES)} value=${entry.severity} onValue=${(severity) => set({ severity })} wrong=${wrong('severity')} />
      <${SelectField} label="Input action" options=${words(ACTIONS)} value=${entry.input} onValue=${(input) => set({ input })} wrong=${wrong('input')} />
      <${SelectField} label="System action" options=${SYSTEM_ACTIONS} value=${entry.system ?? ''} onValue=${(system) => set({ system })} wrong=${wrong('system')} />
      <${SelectField} label="Output action" options=${words(ACTIONS)} value=${entry.output} onValue=${(output) => set({ output })} wrong=${wrong('output')} />
    </div>`
}
