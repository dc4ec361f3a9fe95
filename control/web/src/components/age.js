// The age of data, which increases while the page is open.
import { useEffect, useState } from 'preact/hooks'
import { age, timestamp } from '../format.js'
import { html } from '../html.js'
import { zoneWords } from '../zone.js'

const EVERY_MS = 5_000

/** @param {{at: string | null, none?: string}} props  none: what to show without a time */
export function Age({ at, none }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }, [at])
  if (!at) return html`<span class="muted">${none}</span>`
  return html`<time datetime=${at} title=${`${timestamp(at)} ${zoneWords()}`}>${age(at, now)}</time>`
}
