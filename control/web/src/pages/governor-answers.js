// The Governor's answer schema, lengths and classifier.
import { useId } from 'preact/hooks'
import { SelectField, TextField, wrongWith } from '../components/form.js'
import { ModelList } from '../components/models.js'
import { Card } from '../components/page.js'
import { parsed, SEVERITIES } from '../governor.js'
import { html } from '../html.js'
import { words } from './governor-lists.js'

const KINDS = [
  ['', 'None'],
  ['chat', 'Chat model from the catalog'],
  ['moderation', 'OpenAI moderation'],
  ['llama-guard', 'Llama Guard on Workers AI'],
]
const MODES = [
  ['monitor', 'Beside the request: adds no latency, cannot block'],
  ['strict', 'Before the request: adds latency, can block'],
]
const FAILURES = [
  ['allow', 'Allow the request'],
  ['block', 'Block the request'],
]

export function AnswersCard({ draft, change, error }) {
  const { answerSchema } = draft
  const set = (changes) => change({ answerSchema: { ...answerSchema, ...changes } })
  const typo = answerSchema.schema.trim() !== '' && parsed(answerSchema.schema) === undefined
  return html`<${Card} title="Answer schema">
    <${TextField} label="JSON Schema of answers" multiline rows="5" spellcheck=${false} value=${answerSchema.schema} onValue=${(schema) => set({ schema })}
      wrong=${typo ? 'This is not valid JSON.' : wrongWith(error, 'answerSchema.schema')}
      hint="Leave empty for none. With block, streamed answers are held until they are complete." />
    <div class="columns">
      <${SelectField} label="Answers that do not match" options=${words(['flag', 'block'])} value=${answerSchema.action}
        onValue=${(action) => set({ action })} wrong=${wrongWith(error, 'answerSchema.action')} />
      <${SelectField} label="Severity" options=${words(SEVERITIES)} value=${answerSchema.severity}
        onValue=${(severity) => set({ severity })} wrong=${wrongWith(error, 'answerSchema.severity')} />
    </div>
  <//>`
}

export function LengthsCard({ draft, change, error }) {
  const field = (
    name,
    label,
  ) => html`<${TextField} label=${label} inputmode="numeric" value=${draft[name]} placeholder="no limit"
    onValue=${(value) => change({ [name]: value })} wrong=${wrongWith(error, name)} />`
  return html`<${Card} title="Lengths">
    <p class="muted">Characters of all checked texts. A longer request or response is a finding of length.input or length.output.</p>
    <div class="columns">${field('maxInputCharacters', 'Maximum input')}${field('maxOutputCharacters', 'Maximum output')}</div>
  <//>`
}

export function ClassifierCard({ draft, change, error }) {
  const id = useId()
  const { classifier } = draft
  const set = (changes) => change({ classifier: { ...classifier, ...changes } })
  const wrong = (name) => wrongWith(error, `classifier.${name}`)
  return html`<${Card} title="Classifier">
    <p class="muted">A model that judges requests after the rules. Its cost is charged to the project.</p>
    <div class="columns">
      <${SelectField} label="Kind" options=${KINDS} value=${classifier.kind} onValue=${(kind) => set({ kind })} wrong=${wrong('kind')} />
      ${
        classifier.kind !== '' &&
        html`<${TextField} label="Model" list=${id} value=${classifier.model} onValue=${(model) => set({ model })} wrong=${wrong('model')}
          hint=${classifier.kind === 'moderation' ? 'Leave empty for omni-moderation-latest.' : 'A chat model from the catalog.'} />
        <${SelectField} label="Mode" options=${MODES} value=${classifier.mode} onValue=${(mode) => set({ mode })} wrong=${wrong('mode')} />
        <${TextField} label="Timeout (ms)" inputmode="numeric" value=${classifier.timeoutMs} onValue=${(timeoutMs) => set({ timeoutMs })} wrong=${wrong('timeoutMs')} />
        <${SelectField} label="If the classifier fails" options=${FAILURES} value=${classifier.onFailure} onValue=${(onFailure) => set({ onFailure })} wrong=${wrong('onFailure')} />
        <${TextField} label="Score threshold" inputmode="numeric" value=${classifier.threshold} onValue=${(threshold) => set({ threshold })} wrong=${wrong('threshold')}
          hint="1 to 100. A request with this score or a higher one is a finding." />`
      }
    </div>
    <${ModelList} id=${id} tiers=${false} />
  <//>`
}
