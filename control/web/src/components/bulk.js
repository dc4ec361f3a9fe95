// Actions on the selected rows of a list. The bar offers the actions. The dialog confirms an action, runs it and
// reports its result.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { runAll } from '../bulk.js'
import { plural } from '../format.js'
import { html } from '../html.js'
import { isOutage } from '../outage.js'
import { useUnsaved } from '../unsaved.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { focusHeading } from './page.js'
import { adviceOn, ErrorFacts } from './states.js'

/**
 * @typedef {{label: string, done: string, look?: string, suits: (row: any) => boolean, act: (row: any) => Promise<any>,
 *   effect: (rows: any[]) => any}} Action
 *   label: the verb; done: its participle; suits: whether the action applies to the row; effect: what will happen
 * @param {{picks: object, list: object, noun: string, actions: Action[], itemOf: (row: any) => any, atOnce?: number}} props
 *   picks: from useSelection; itemOf: a row in the dialog's lists; atOnce: the number of requests in flight
 */
export function Bulk({ picks, list, noun, actions, itemOf, atOnce }) {
  const [open, setOpen] = useState(null)
  const [endedAt, setEndedAt] = useState(0)
  const { rows } = picks
  const chosen = `${plural(rows.length, noun)} selected`
  const ended = ({ failed, left }) => {
    setEndedAt(Date.now())
    picks.keep([...failed.map(({ row }) => row), ...left].map(({ id }) => id))
    list.reload()
  }
  const close = () => {
    setOpen(null)
    if (rows.length === 0) focusHeading()
    else setTimeout(focusBar) // deferred, because an open dialog would keep the focus
  }
  // The next action waits until the rows have been reloaded, because a request without a response may have taken
  // effect.
  const bar = { picks, noun, actions, chosen, waits: list.at < endedAt, onOpen: setOpen }
  return html`<p class="visually-hidden" role="status">${rows.length > 0 && chosen}</p>
    ${rows.length > 0 && html`<${Bar} ...${bar} />`}
    ${open && html`<${BulkDialog} ...${open} ...${{ noun, itemOf, atOnce }} onEnded=${ended} onClose=${close} />`}`
}

/** Focuses the first action if the action that had the focus is no longer offered. */
function focusBar() {
  if (document.activeElement === document.body) document.querySelector('.bulk .button')?.focus()
}

/** The actions that apply to at least one selected row, each with the rows to which it applies. */
function Bar({ picks, noun, actions, chosen, waits, onOpen }) {
  const clear = () => {
    picks.keep([])
    document.querySelector('.pick input')?.focus()
  }
  const offers = actions
    .map((action) => ({ action, rows: picks.rows.filter(action.suits) }))
    .filter(({ rows }) => rows.length > 0)
  return html`<div class="bulk save-bar buttons" role="group" aria-label=${`Actions for the selected ${noun}s`}>
    <strong>${chosen}</strong>
    ${offers.map(
      ({ action, rows }) => html`<${Button} key=${action.label} look=${action.look} changes busy=${waits}
        onClick=${() => onOpen({ action, rows, others: picks.rows.length - rows.length })}>${action.label} ${rows.length}<//>`,
    )}
    <${Button} onClick=${clear}>Clear selection<//>
  </div>`
}

/** The dialog for an action. "others" is the number of selected rows to which the action does not apply. */
function BulkDialog({ action, rows, others, noun, itemOf, atOnce, onEnded, onClose }) {
  const { settled, result, start, stop } = useRun(rows, action, { atOnce, onEnded })
  const title = `${action.label} ${plural(rows.length, noun)}`
  const running = settled !== null && !result
  const report = useId()
  const first = useRef(null)
  useUnsaved(running)
  useEffect(() => {
    if (result) first.current.querySelector('button').focus() // the button that had the focus is gone
  }, [result])
  return html`<${Dialog} title=${settled === null ? `${title}?` : title} persistent=${running} onClose=${onClose}>
    <div class="dialog-text">
      ${settled === null && html`<${Plan} ...${{ action, rows, others, noun, itemOf }} />`}
      ${running && html`<progress max=${rows.length} value=${settled} aria-label=${title}></progress><p>${settled} of ${rows.length}</p>`}
      ${result && html`<${Report} ...${{ id: report, action, result, noun, itemOf }} />`}
    </div>
    <div class="buttons" ref=${first}>
      <${Button} autofocus aria-describedby=${result ? report : undefined} onClick=${running ? stop : onClose}>${running ? 'Stop' : result ? 'Close' : 'Cancel'}<//>
      ${!result && html`<${Button} look=${action.look ?? 'primary'} changes busy=${running} onClick=${start}>${title}<//>`}
    </div>
  <//>`
}

/**
 * One run over the rows. "settled" is null before the run, and then the number of rows that have succeeded or failed.
 */
function useRun(rows, { act }, { atOnce, onEnded }) {
  const [settled, setSettled] = useState(null)
  const [result, setResult] = useState(null)
  const [controller] = useState(() => new AbortController())
  const started = useRef(false)
  useEffect(() => () => controller.abort(), [])
  const start = async () => {
    if (started.current) return
    started.current = true
    setSettled(0)
    const all = await runAll(rows, act, { atOnce, signal: controller.signal, onProgress: setSettled })
    setResult(all)
    onEnded(all)
  }
  return { settled, result, start, stop: () => controller.abort() }
}

function Plan({ action, rows, others, noun, itemOf }) {
  return html`${action.effect(rows)}
    <${Items} label=${`${action.label} ${plural(rows.length, noun)}`}>${rows.map((row) => html`<li key=${row.id}>${itemOf(row)}</li>`)}<//>
    ${others > 0 && html`<p>Left as ${others === 1 ? 'it is' : 'they are'}: ${plural(others, `other selected ${noun}`)}, which ${others === 1 ? 'has' : 'have'} a state that does not allow this or is already the same.</p>`}`
}

function Report({ id, action, result: { done, failed, left }, noun, itemOf }) {
  const items = (rows) => rows.map((row) => html`<li key=${row.id}>${itemOf(row)}</li>`)
  const whole = failed.length + left.length === 0
  const parts = [
    `${plural(done.length, noun)} ${action.done}`,
    failed.length > 0 && `${failed.length} failed`,
    left.length > 0 && `${left.length} not tried`,
  ]
  return html`<p id=${id} class="state-title">${parts.filter(Boolean).join(', ')}.${!whole && ' The rest stays selected.'}</p>
    ${failed.length > 0 && html`<${Items} label="Failed">${failed.map(({ row, error }) => html`<li key=${row.id}>${itemOf(row)}<${Reason} error=${error} /></li>`)}<//>`}
    ${left.length > 0 && html`<${Folded} label="Not tried">${items(left)}<//>`}
    ${done.length > 0 && html`<${Folded} label=${`${action.done[0].toUpperCase()}${action.done.slice(1)}`} open=${whole}>${items(done)}<//>`}`
}

function Folded({ label, open = false, children }) {
  return html`<details open=${open}><summary>${label}: ${children.length}</summary><${Items} label=${label}>${children}<//></details>`
}

function Items({ label, children }) {
  return html`<ul class="items" tabindex="0" aria-label=${label}>${children}</ul>`
}

function Reason({ error }) {
  const details = error.details?.map(({ field, message }) => `${field} ${message}`).join(', ')
  return html`<p class="field-error">${[error.message, details].filter(Boolean).join(': ')}. ${reasonOf(error)}</p><${ErrorFacts} error=${error} />`
}

function reasonOf(error) {
  if (isOutage(error)) return 'The list shows the outcome.'
  if (error.status === 404) return 'It no longer exists.'
  if (error.status === 409) return 'Someone else changed it at the same time. The list shows the latest version.'
  return adviceOn(error)
}
