// States as a word in a colour; the word says it all.
import { html } from '../html.js'

const LOOKS = {
  active: 'good',
  ready: 'good',
  closed: 'good',
  hit: 'good',
  inactive: 'bad',
  expired: 'warn',
  archived: 'warn',
  open: 'bad',
  half_open: 'warn',
}
const WORDS = { closed: 'healthy', open: 'failing', half_open: 'recovering' }

export function Badge({ of, look }) {
  return html`<span class=${`badge ${look ?? LOOKS[of] ?? ''}`}>${WORDS[of] ?? of}</span>`
}

/** The status of a request: its number, with a colour by its class. */
export function Status({ code }) {
  if (code === null) return html`<span class="muted">none</span>`
  const look = code >= 500 || code === 0 ? 'bad' : code >= 400 ? 'warn' : 'good'
  return html`<${Badge} of=${String(code)} look=${look} />`
}

/** Whether a provider can be used: true, false, or null if the gateway was not asked. */
export function Readiness({ ready }) {
  if (ready === null || ready === undefined) return html`<span class="muted">unknown</span>`
  return html`<${Badge} of=${ready ? 'ready' : 'not set up'} />`
}
