// Live refresh: a page that shows what happens now loads again every few seconds, if its user has switched that on. This
// browser stores the choice.
import { useEffect, useState } from 'preact/hooks'

const STORED = 'postern-live'
const EVENT = 'postern:live'
const EVERY_MS = 10_000

let chosen = stored()

function stored() {
  try {
    return localStorage.getItem(STORED) === 'on'
  } catch {
    return false // storage is blocked
  }
}

/** @param {boolean} on */
export function setLive(on) {
  chosen = on
  try {
    localStorage.setItem(STORED, on ? 'on' : 'off')
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
  document.dispatchEvent(new Event(EVENT))
}

/** Whether a load now would take something from under the user's hands. */
function isBusy() {
  return document.hidden || document.querySelector('dialog[open]') !== null
}

/**
 * Loads a resource again while live refresh is on. Not before all of it has been read, in a hidden tab, or under a dialog.
 * @param {import('./resource.js').Resource<any> & {more?: {loading: boolean}}} of  more: the state of a list's further pages
 * @returns {boolean} whether it is on
 */
export function useLive({ reload, loading, more, at }) {
  const [on, setOn] = useState(chosen)
  useEffect(() => {
    const follow = () => setOn(chosen)
    document.addEventListener(EVENT, follow)
    return () => document.removeEventListener(EVENT, follow)
  }, [])
  const reading = loading || more?.loading
  useEffect(() => {
    if (!on || reading) return undefined
    const timer = setInterval(() => isBusy() || reload(), EVERY_MS)
    return () => clearInterval(timer)
  }, [on, reading, at, reload])
  return on
}
