// Status badges. The color only repeats what the word says.
import { html } from '../html.js'

const LOOKS = {
  active: 'good',
  configured: 'good',
  closed: 'good',
  healthy: 'good',
  hit: 'good',
  inactive: 'bad',
  expired: 'warn',
  archived: 'warn',
  failing: 'bad',
  open: 'bad',
  half_open: 'warn',
}
const WORDS = { closed: 'healthy', open: 'failing', half_open: 'recovering' }

export function Badge({ of, look }) {
  return html`<span class=${`badge ${look ?? LOOKS[of] ?? ''}`}>${WORDS[of] ?? of}</span>`
}

/** An HTTP status code, colored by its class. */
export function Status({ code }) {
  if (code === null) return html`<span class="muted">none</span>`
  const look = code >= 500 || code === 0 ? 'bad' : code >= 400 ? 'warn' : 'good'
  return html`<${Badge} of=${String(code)} look=${look} />`
}

/** Whether the deployment has credentials for a provider. Null if the gateway did not report it. */
export function Readiness({ ready }) {
  if (ready === null || ready === undefined) return html`<span class="muted">unknown</span>`
  return html`<${Badge} of=${ready ? 'configured' : 'not configured'} />`
}
