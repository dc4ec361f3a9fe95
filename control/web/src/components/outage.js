// The banner that announces an outage. No other part of the page has a message about the outage or a button for
// trying again.
import { useEffect, useState } from 'preact/hooks'
import { html } from '../html.js'
import { retryNow, subscribe } from '../outage.js'
import { Button } from './button.js'
import { adviceOn, ErrorFacts } from './states.js'

export function OutageBanner() {
  const [{ error, trying, pauseMs }, setState] = useState({})
  useEffect(() => subscribe(setState), [])
  const away = Boolean(error)
  useEffect(() => {
    if (!away) return
    addEventListener('online', retryNow)
    return () => removeEventListener('online', retryNow)
  }, [away])
  if (!away) return null
  return html`<div class="banner outage">
    <div role="alert">
      <p class="state-title">${titleOf(error)}</p>
      <p>${adviceOf(error)} What you see may be out of date. This page tries again by itself.</p>
      <${ErrorFacts} error=${error} />
    </div>
    <${Button} look="small" busy=${trying} onClick=${retryNow}>Try now<//>
    <span class="muted">${trying ? 'Trying again…' : `Next try in ${pauseMs / 1000} s`}</span>
  </div>`
}

function titleOf(error) {
  return error.status === 0 ? 'The server cannot be reached' : `The server failed: ${error.message}`
}

function adviceOf(error) {
  return error.status === 0 ? 'Check your connection.' : adviceOn(error)
}
