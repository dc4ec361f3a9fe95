// The bar that selects a page's time range. The range is in the URL: range, from and to for a custom range, and
// compare=true. Each change is a step in the browser's history.
import { useState } from 'preact/hooks'
import { html } from '../html.js'
import { boundsOf, CUSTOM, customOf, hasTimes, isDay, labelOf, rangeWords, readRange } from '../ranges.js'
import { useQuery } from '../router.js'
import { textOf, timeOf, zone, zoned } from '../zone.js'
import { Button } from './button.js'
import { TextField } from './form.js'

/** Steps of time fields, in seconds. Home uses whole hours. */
const STEP_S = 600
const HOUR_S = 3600
const DAY_MS = 86_400_000

/**
 * The range in the page's URL.
 * @param {string[]} names the page's ranges
 * @param {string} standard the range for a URL without one
 * @returns {{range: {name: string, from?: string, to?: string}, compares: boolean, names: string[], set: (changes: object) => void}}
 */
export function useRange(names, standard) {
  const [{ compare, ...query }, change] = useQuery(['range', 'from', 'to', 'compare'])
  const set = (changes) => change(changes, { step: true })
  return { range: readRange(query, names, standard), compares: compare === 'true', names, standard, set }
}

/**
 * @param {{of: ReturnType<typeof useRange>, shown?: {from: string, to: string}, comparable?: boolean}} props
 *   shown: the range of the loaded report; comparable: the page can compare with the previous range
 */
export function RangeBar({ of: { range, compares, names, standard, set }, shown, comparable = false }) {
  const select = (name) =>
    set(name === CUSTOM ? customOf(range.name) : { range: name === standard ? '' : name, from: '', to: '' })
  return html`<div class="range-bar">
    <div class="segments" role="group" aria-label="Range">${names.map(
      (name) =>
        html`<${Button} key=${name} look="segment" aria-pressed=${name === range.name ? 'true' : 'false'}
          onClick=${() => name !== range.name && select(name)}>${labelOf(name)}<//>`,
    )}</div>
    <span class="range-words" role="status">${shown?.from && rangeWords(shown)}</span>
    ${
      comparable &&
      html`<label class="live"><input type="checkbox" checked=${compares}
        onChange=${(event) => set({ compare: event.target.checked ? 'true' : '' })} />Compare with the range before</label>`
    }
  </div>
  ${range.name === CUSTOM && html`<${CustomRange} key=${`${range.from} ${range.to} ${zone()}`} range=${range} hours=${hasTimes(names)} stepS=${names.includes('2h') ? HOUR_S : STEP_S} onRange=${set} />`}`
}

/** The fields of a custom range. @param {{hours: boolean, stepS: number}} props  hours: the range may begin and end at a time of day */
function CustomRange({ range, hours, stepS, onRange }) {
  const [draft, setDraft] = useState(draftOf(range))
  const [wrong, setWrong] = useState('')
  const { times } = draft
  const submit = (event) => {
    event.preventDefault()
    const [from, end] = [draft.from, draft.to].map((text) => (times ? timeOf(text) : Date.parse(text)))
    if (!(times ? from < end : from <= end)) return setWrong('Enter an end after the start.')
    setWrong('')
    const textFor = (ms) => new Date(ms).toISOString().slice(0, times ? 19 : 10) + (times ? 'Z' : '')
    onRange({ range: CUSTOM, from: textFor(from), to: textFor(end) })
  }
  const field = (label, name, rest) =>
    html`<${TextField} key=${`${name} ${times}`} label=${times ? zoned(label) : `${label} (UTC)`} type=${times ? 'datetime-local' : 'date'} step=${times ? stepS : undefined}
      ...${boundsOf(times)} value=${draft[name]} onValue=${(value) => setDraft({ ...draft, [name]: value })} ...${rest} />`
  return html`<form class="filters" aria-label="Custom range" novalidate onSubmit=${submit}>
    ${field('From', 'from')}
    ${field('To', 'to', { wrong })}
    ${
      hours &&
      html`<label class="live"><input type="checkbox" checked=${times}
        onChange=${(event) => setDraft(withTimes(draft, event.target.checked, stepS * 1000))} />Times of day</label>`
    }
    <${Button} type="submit">Show range<//>
  </form>`
}

function draftOf({ from, to: end }) {
  if (isDay(from)) return { times: false, from, to: end }
  const [first, last] = [from, end].map((at) => textOf(Date.parse(at)).slice(0, 16))
  return { times: true, from: first, to: last }
}

/**
 * The draft of a range, converted to a range with or without times of day. When times are added, the range begins at
 * the start of the first day. It ends at the end of the last day, or now.
 */
function withTimes({ from, to: end }, times, stepMs) {
  if (!times) return { times, from: from.slice(0, 10), to: end.slice(0, 10) }
  const now = Math.ceil(Date.now() / stepMs) * stepMs
  const last = Math.min(timeOf(`${end.slice(0, 10)}T00:00`) + DAY_MS, now)
  return { times, from: `${from.slice(0, 10)}T00:00`, to: textOf(last).slice(0, 16) }
}
