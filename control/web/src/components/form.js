// Parts of forms. Each has a label, may have a hint, and shows what the server found wrong with it.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { useViewer } from '../session.js'
import { adviceOn, ErrorFacts } from './states.js'

/** What a 400 says about one field; fields inside of it count too (limits: limits.requestsPerDay). */
export function wrongWith(error, field) {
  const found = error?.details?.find((detail) => detail.field === field || detail.field.startsWith(`${field}.`))
  return found && `${field === found.field ? '' : `${found.field} `}${found.message}`
}

function Frame({ id, label, hint, wrong, children }) {
  return html`<div class=${`field ${wrong ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    ${children}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${wrong && html`<p class="field-error" id=${`${id}-wrong`}>${wrong}</p>`}
  </div>`
}

function described(id, hint, wrong) {
  const ids = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ')
  return { 'aria-describedby': ids || undefined, 'aria-invalid': wrong ? 'true' : undefined }
}

/** What to do about an input that the browser cannot make a value of, and so gives as empty. */
const UNREADABLE = {
  'datetime-local': 'Give both the date and the time, or clear the field.',
  number: 'Write a number, or clear the field.',
}

/** A field of text. @param {{label: string, value: string, onValue: (value: string) => void}} props */
export function TextField({ label, hint, wrong, value, onValue, multiline = false, ...rest }) {
  const id = useId()
  const [unreadable, setUnreadable] = useState(false)
  const look = (event) => setUnreadable(event.target.validity.badInput)
  const input = (event) => {
    if (unreadable) look(event)
    onValue(event.target.value)
  }
  const tag = multiline ? 'textarea' : 'input'
  const shown = unreadable ? UNREADABLE[rest.type] : wrong
  return html`<${Frame} id=${id} label=${label} hint=${hint} wrong=${shown}>
    <${tag} id=${id} value=${value} autocomplete="off" onInput=${input} onBlur=${look} onInvalid=${look}
      ...${rest} ...${described(id, hint, shown)} />
  <//>`
}

/** A choice. @param {{options: [string, string][]}} props  values with what is shown */
export function SelectField({ label, hint, wrong, value, onValue, options, ...rest }) {
  const id = useId()
  return html`<${Frame} id=${id} label=${label} hint=${hint} wrong=${wrong}>
    <select id=${id} value=${value} onChange=${(event) => onValue(event.target.value)} ...${rest}
      ...${described(id, hint, wrong)}>
      ${options.map(([name, shown]) => html`<option value=${name} key=${name} selected=${name === value}>${shown}</option>`)}
    </select>
  <//>`
}

/** Yes or no. @param {{value: boolean, onValue: (value: boolean) => void}} props */
export function CheckField({ label, hint, wrong, value, onValue }) {
  const id = useId()
  return html`<div class="field">
    <label class="check">
      <input type="checkbox" checked=${value} onChange=${(event) => onValue(event.target.checked)} ...${described(id, hint, wrong)} />
      ${label}
    </label>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${wrong && html`<p class="field-error" id=${`${id}-wrong`}>${wrong}</p>`}
  </div>`
}

/** Several of a few. @param {{value: string[], options: [string, string][]}} props */
export function ChecksField({ label, hint, wrong, value, onValue, options }) {
  const id = useId()
  const change = (name, on) => onValue(options.map(([o]) => o).filter((o) => (o === name ? on : value.includes(o))))
  return html`<fieldset class="field checks" aria-describedby=${hint ? id : undefined}>
    <legend>${label}</legend>
    ${options.map(
      ([name, shown]) => html`<label class="check" key=${name}>
        <input type="checkbox" checked=${value.includes(name)} onChange=${(event) => change(name, event.target.checked)} />
        ${shown}
      </label>`,
    )}
    ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
    ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
  </fieldset>`
}

/** What the server says against a form: in words, with the fields that no part of the form shows. */
export function FormError({ error, shown = [] }) {
  const frame = useRef(null)
  useEffect(() => {
    frame.current?.closest('form')?.querySelector('[aria-invalid="true"]')?.focus()
  }, [error])
  if (!error) return null
  const rest = (error.details ?? []).filter(({ field }) => !shown.some((s) => field === s || field.startsWith(`${s}.`)))
  return html`<div class="form-error" role="alert" ref=${frame}>
    <p class="state-title">${error.message}</p>
    <p>${adviceOn(error)}</p>
    ${rest.length > 0 && html`<ul>${rest.map(({ field, message }) => html`<li key=${field}><code>${field}</code> ${message}</li>`)}</ul>`}
    <${ErrorFacts} error=${error} />
  </div>`
}

/** Whether all inputs could be read; if not, those say so, and the first one has the focus. */
function readable(form) {
  const wrong = [...form.elements].filter((input) => input.validity?.badInput)
  for (const input of wrong) {
    const folded = input.closest('details')
    if (folded) folded.open = true
    input.checkValidity() // has it hear of "invalid"
  }
  wrong[0]?.focus()
  return wrong.length === 0
}

/** A form whose parts are all disabled for a viewer. Nothing is sent of a form that cannot be read as it was meant. */
export function Form({ onSubmit, children, ...rest }) {
  const viewer = useViewer()
  const submit = (event) => {
    event.preventDefault()
    if (!viewer && readable(event.currentTarget)) void onSubmit()
  }
  return html`<form onSubmit=${submit} novalidate ...${rest}><fieldset class="bare" disabled=${viewer}>${children}</fieldset></form>`
}
