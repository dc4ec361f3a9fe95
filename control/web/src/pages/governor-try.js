// Checks a text against the form's settings before they are saved. Neither the text nor the settings are stored.
import { useState } from 'preact/hooks'
import { path, post } from '../api.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { FormError, SelectField, TextField } from '../components/form.js'
import { Card } from '../components/page.js'
import { Table } from '../components/table.js'
import { plural } from '../format.js'
import { piecesOf, riskSum } from '../governor.js'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { same } from '../values.js'
import { Severity } from './governor-rules.js'

const DIRECTIONS = [
  ['input', 'Input: from a caller'],
  ['system', 'Input: a system text or tool definition'],
  ['output', 'Output: from a model'],
]
const DECISIONS = { approve: 'good', redact: 'good', review: 'warn', block: 'bad' }
const EXAMPLE = 'Write to jane.doe@example.com about the IBAN DE89 3704 0044 0532 0130 00.'

export function Decision({ of: decision }) {
  return html`<${Badge} of=${decision} look=${DECISIONS[decision] ?? ''} />`
}

/** @param {{project: object, settings: () => object}} props  settings: the draft as the API's fields */
export function TryCard({ project, settings }) {
  const [text, setText] = useState(EXAMPLE)
  const [direction, setDirection] = useState('input')
  const [checked, setChecked] = useState(null)
  const of = direction === 'system' ? { direction: 'input', role: 'system' } : { direction }
  const sent = { text, ...of, settings: settings() }
  const { busy, error, run } = useAction(async () => {
    setChecked({ sent, result: await post(path`projects/${project.id}/governor/try`, sent) })
  })
  return html`<${Card} title="Try a text">
    <p class="muted">Checks a text against the settings on this page, saved or not. Neither is stored.</p>
    <${TextField} label="Text" multiline rows="4" value=${text} onValue=${setText} />
    <${SelectField} label="Direction" options=${DIRECTIONS} value=${direction} onValue=${setDirection} />
    <div class="buttons"><${Button} changes busy=${busy} idle=${text === ''} onClick=${() => run()}>Check text<//></div>
    <${FormError} error=${error} />
    <p class="visually-hidden" role="status">${checked && `Result: ${checked.result.decision}, risk score ${checked.result.riskScore}`}</p>
    ${checked && html`<${Result} ...${checked} current=${same(checked.sent, sent)} />`}
  <//>`
}

function Result({ sent, result, current }) {
  return html`<section class=${`trial ${current ? '' : 'stale'}`} aria-label="Result">
    <h3>Result: <${Decision} of=${result.decision} /></h3>
    ${!current && html`<p class="warning">The text or the settings changed after this check. Check again.</p>`}
    <p>Risk score <strong class="risk">${riskSum(result)}</strong>${reasonOf(result)}</p>
    <${Marked} text=${sent.text} findings=${result.findings} />
    ${result.findings.length > 0 && html`<${Findings} result=${result} />`}
    ${
      result.redacted !== null &&
      html`<div class="field"><h3>After redaction</h3><pre class="answer" tabindex="0">${result.redacted}</pre></div>`
    }
  </section>`
}

/** The reason why the decision differs from what the threshold alone would imply. */
function reasonOf({ findings, decision, riskScore, autoApproveThreshold }) {
  const blocking = findings.find(({ action }) => action === 'block')
  if (decision === 'block' && blocking) return html`, blocked by <code>${blocking.rule}</code>`
  if (decision === 'block' && riskScore > autoApproveThreshold) return ', blocked by strict mode'
  return ''
}

function Marked({ text, findings }) {
  return html`<pre class="answer" tabindex="0">${piecesOf(text, findings).map(({ text: piece, finding }, i) =>
    finding
      ? html`<mark class=${finding.action} key=${i} title=${`${finding.rule}: ${finding.action}`}>${piece}<span class="visually-hidden"> (${finding.rule}, ${finding.action}) </span></mark>`
      : html`<span key=${i}>${piece}</span>`,
  )}</pre>`
}

const COLUMNS = [
  { label: 'Rule', head: true, cell: (finding) => html`<code>${finding.rule}</code>` },
  { label: 'Severity', cell: (finding) => html`<${Severity} of=${finding.severity} />` },
  { label: 'Action', cell: (finding) => finding.action },
  { label: 'Bytes', num: true, cell: (finding) => `${finding.start}–${finding.end}` },
  { label: 'Points', num: true, cell: (finding) => finding.points },
]

function Findings({ result: { findings, total } }) {
  return html`<${Table} caption="Findings" columns=${COLUMNS} rows=${findings} rowKey=${(finding, i) => `${i} ${finding.rule}`} />
    ${total > findings.length && html`<p class="muted">${plural(total, 'finding')}; the first ${findings.length} are listed.</p>`}`
}
