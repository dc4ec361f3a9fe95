// Live refresh: a page that shows what happens now loads again every few seconds, if its user has switched that on. This
// browser stores the choice.
import { useEffect, useState } from 'preact/hooks'

const STORED = 'postern-live'
const EVENT = 'postern:live'
const EVERY_MS = 10_000

export function isLive() {
  try {
    return localStorage.getItem(STORED) === 'on'
  } catch {
    return false // storage is blocked
  }
}

/** @param {boolean} on */
export function setLive(on) {
  try {
    localStorage.setItem(STORED, on ? 'on' : 'off')
  } catch {
    return // storage is blocked
  }
  document.dispatchEvent(new Event(EVENT))
}

/** Whether a load now would take something from under the user's hands. */
function isBusy() {
  return document.hidden || document.querySelector('dialog[open]') !== null
}

/**
 * Loads a resource again while live refresh is on. Not before a load has ended, in a hidden tab, or under a dialog.
 * @param {import('./resource.js').Resource<any>} of
 * @returns {boolean} whether it is on
 */
export function useLive({ reload, loading, at }) {
  const [on, setOn] = useState(isLive)
  useEffect(() => {
    const follow = () => setOn(isLive())
    document.addEventListener(EVENT, follow)
    return () => document.removeEventListener(EVENT, follow)
  }, [])
  useEffect(() => {
    if (!on || loading) return undefined
    const timer = setInterval(() => isBusy() || reload(), EVERY_MS)
    return () => clearInterval(timer)
  }, [on, loading, at, reload])
  return on
}
