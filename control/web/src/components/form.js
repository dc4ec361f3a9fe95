// Form fields. Each has a label, an optional hint, and the server's error for the field.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { useViewer } from '../session.js'
import { useUnsaved } from '../unsaved.js'
import { adviceOn, ErrorFacts } from './states.js'

/**
 * The message of a 400 about a field or about a field nested in it (for limits: limits.requestsPerDay). Undefined if
 * there is no such message.
 */
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

/** Messages for incomplete input, by input type. The browser reports the value of an incomplete input as empty. */
const INCOMPLETE = {
  'datetime-local': 'Enter both date and time, or clear the field.',
  number: 'Enter a number, or clear the field.',
}

/** A text field. @param {{label: string, value: string, onValue: (value: string) => void}} props */
export function TextField({ label, hint, wrong, value, onValue, multiline = false, ...rest }) {
  const id = useId()
  const [incomplete, setIncomplete] = useState(false)
  const check = (event) => setIncomplete(event.target.validity.badInput)
  const input = (event) => {
    if (incomplete) check(event)
    onValue(event.target.value)
  }
  const tag = multiline ? 'textarea' : 'input'
  const shown = incomplete ? INCOMPLETE[rest.type] : wrong
  return html`<${Frame} id=${id} label=${label} hint=${hint} wrong=${shown}>
    <${tag} id=${id} value=${value} autocomplete="off" onInput=${input} onBlur=${check} onInvalid=${check}
      ...${rest} ...${described(id, hint, shown)} />
  <//>`
}

/** A select field. @param {{options: [string, string][]}} props  options: [value, label] pairs */
export function SelectField({ label, hint, wrong, value, onValue, options, ...rest }) {
  const id = useId()
  return html`<${Frame} id=${id} label=${label} hint=${hint} wrong=${wrong}>
    <select id=${id} value=${value} onChange=${(event) => onValue(event.target.value)} ...${rest}
      ...${described(id, hint, wrong)}>
      ${options.map(([name, text]) => html`<option value=${name} key=${name} selected=${name === value}>${text}</option>`)}
    </select>
  <//>`
}

/** A checkbox. @param {{value: boolean, onValue: (value: boolean) => void}} props */
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

/** A group of checkboxes. @param {{value: string[], options: [string, string][]}} props  options: [value, label] pairs */
export function ChecksField({ label, hint, wrong, value, onValue, options }) {
  const id = useId()
  const change = (name, on) => onValue(options.map(([o]) => o).filter((o) => (o === name ? on : value.includes(o))))
  return html`<fieldset class="field checks" aria-describedby=${hint ? id : undefined}>
    <legend>${label}</legend>
    ${options.map(
      ([name, text]) => html`<label class="check" key=${name}>
        <input type="checkbox" checked=${value.includes(name)} onChange=${(event) => change(name, event.target.checked)} />
        ${text}
      </label>`,
    )}
    ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
    ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
  </fieldset>`
}

/**
 * The server's error for a form, with the details that no field shows. "shown" has the names of the fields that show
 * their own errors.
 */
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

/** Reports whether all inputs are complete. If not, marks the incomplete inputs and focuses the first one. */
function complete(form) {
  const incomplete = [...form.elements].filter((input) => input.validity?.badInput)
  for (const input of incomplete) {
    const collapsed = input.closest('details')
    if (collapsed) collapsed.open = true
    input.checkValidity() // fires "invalid", which shows the message
  }
  incomplete[0]?.focus()
  return incomplete.length === 0
}

/**
 * A form that is disabled for viewers and is not submitted while an input is incomplete.
 * @param {{onSubmit: () => void, edited?: boolean, children: any}} props  edited: leaving the page needs the user's confirmation
 */
export function Form({ onSubmit, edited = false, children, ...rest }) {
  const viewer = useViewer()
  useUnsaved(edited)
  const submit = (event) => {
    event.preventDefault()
    if (!viewer && complete(event.currentTarget)) void onSubmit()
  }
  return html`<form onSubmit=${submit} novalidate ...${rest}><fieldset class="bare" disabled=${viewer}>${children}</fieldset></form>`
}
