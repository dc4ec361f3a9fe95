// Placeholders for loading, failed and empty content, and times.

import { relative, timestamp } from '../format.js'
import { html } from '../html.js'
import { setLive, useLive } from '../live.js'
import { isOutage } from '../outage.js'
import { zoneWords } from '../zone.js'
import { Button } from './button.js'

export function Skeleton({ rows = 5, label = 'Loading' }) {
  const lines = Array.from({ length: rows }, (_, i) => html`<div class="skeleton-line" key=${i}></div>`)
  return html`<div class="skeleton" role="status"><span class="visually-hidden">${label}…</span>${lines}</div>`
}

/** The remedy for an admin API error. @param {import('../api.js').ApiError} error */
export function adviceOn(error) {
  if (error.status === 0) return 'Check your connection and try again.'
  if (error.status === 429) {
    return `Too many requests. Try again in ${error.retryAfter ?? 'a few'} seconds.`
  }
  if (error.code === 'admin_not_configured') {
    return 'Set the secret POSTERN_ADMIN_TOKEN (at least 16 characters) on the server or the control Worker, then sign in with it.'
  }
  if (error.code === 'cross_origin') return 'Open the dashboard at the gateway’s own address and try again.'
  if (error.code === 'forbidden') return 'Change the project’s plan in Settings, then try again.'
  if (error.status === 403) return 'Your role does not allow this. Sign in as an owner.'
  if (isOutdated(error)) {
    return 'Someone else changed it at the same time. The latest version is now shown: review it and try again.'
  }
  if (error.status === 409) return 'Follow the details above, then try again.'
  if (error.status === 404) return 'It may have been deleted. Go back to the list and check.'
  if (error.status >= 500) return 'The service had an internal error. Try again in a moment.'
  return 'Correct the invalid values and try again.'
}

/** Whether an error says that someone else has saved the record. Other conflicts name another field than the version. */
export function isOutdated(error) {
  const { status, details = [] } = error ?? {}
  return status === 409 && (details.length === 0 || details.some(({ field }) => field === 'version'))
}

/** An error with a retry button, shown in place of content that failed to load. */
export function Failure({ error, retry, what = 'this' }) {
  return html`<div class="state failure" role="alert">
    <p class="state-title">Could not load ${what}: ${error.message}</p>
    <p>${adviceOn(error)}</p>
    ${error.details?.length > 0 && html`<ul>${error.details.map(({ field, message }, i) => html`<li key=${i}><code>${field}</code> ${message}</li>`)}</ul>`}
    <${ErrorFacts} error=${error} />
    ${retry && html`<${Button} onClick=${retry}>Try again<//>`}
  </div>`
}

export function ErrorFacts({ error }) {
  if (!error.code || error.status === 0) return null
  return html`<p class="facts">Code <code>${error.code}</code>${
    error.requestId ? html`, request ID <code>${error.requestId}</code>` : ''
  }</p>`
}

export function Empty({ title, children }) {
  return html`<div class="state empty">
    <p class="state-title">${title}</p>
    ${children}
  </div>`
}

/** Whether an error is shown elsewhere: an outage in the banner, or the end of a session in the sign-in dialog. */
export function shownElsewhere(error) {
  return isOutage(error) || error?.status === 401
}

/**
 * A resource in its current state. "children" is a function of the resource's data. Data stays visible during a
 * reload and after a failed one. Stale data belongs to another range or search. It is replaced with the error,
 * because it would be wrong under the new heading.
 */
export function Loaded({ of, what, rows, children }) {
  const error = shownElsewhere(of.error) ? undefined : of.error
  if (of.data === undefined || (of.stale && of.error)) {
    if (error) return html`<${Failure} error=${error} retry=${of.reload} what=${what} />`
    return html`<${Skeleton} rows=${rows} label=${`Loading ${what}`} />`
  }
  const old = of.loading || of.stale
  return html`<div aria-busy=${old ? 'true' : 'false'} class=${`loaded ${old ? 'stale' : ''}`}>
    ${error && html`<${Failure} error=${error} retry=${of.reload} what=${what} />`}
    ${children(of.data)}
  </div>`
}

/**
 * A button that reloads a resource, a switch for live refresh, and the time of the last load. Screen readers announce
 * the time only after a click.
 * @param {{of: import('../resource.js').Resource<any>, within?: string}} props
 *   within: a selector. Live refresh then has a pause button and pauses while the pointer or the focus is inside
 */
export function Refresh({ of, within }) {
  const { on, paused, stopped, setStopped } = useLive(of, within)
  const at = of.at ? timestamp(new Date(of.at).toISOString()) : ''
  return html`<span class="refresh">
    <span class="muted" role=${on ? undefined : 'status'}>${of.at ? `Updated at ${at.slice(11)} ${zoneWords()}` : ''}</span>
    ${within && html`<strong role="status" title=${HELD}>${paused && 'Paused'}</strong>`}
    <label class="live" title="Load again every 10 seconds">
      <input type="checkbox" checked=${on} onChange=${(event) => setLive(event.target.checked)} />Live
    </label>
    ${within && on && html`<${Button} look="small" onClick=${() => setStopped(!stopped)}>${stopped ? 'Resume' : 'Pause'}<//>`}
    <${Button} look="small" busy=${of.loading} onClick=${of.reload}>Refresh<//>
  </span>`
}

const HELD = 'Live refresh pauses while you point at the list, have the focus in it, or select a text'

/** A time in the dashboard's zone or, with "ago", relative to now. The title attribute has both. */
export function Time({ at, ago = false }) {
  if (!at) return html`<span class="muted">${ago ? 'never' : '–'}</span>`
  const exact = timestamp(at)
  return html`<time datetime=${at} title=${`${exact} ${zoneWords()}, ${relative(at)}`}>${ago ? relative(at) : exact}</time>`
}
