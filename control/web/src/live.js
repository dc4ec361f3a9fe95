// Live refresh: a page that shows what happens now loads again every few seconds, if its user has switched that on. This
// browser stores the choice. It pauses while the user reads or uses what would move.
import { useEffect, useRef, useState } from 'preact/hooks'

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

/** Whether a load now would take something from under the user's hands. A drawer keeps what it shows. */
function isBusy() {
  return document.hidden || document.querySelector('dialog:modal:not(.drawer)') !== null
}

/** Whether the pointer or the focus is in an element that the selector finds, or a text is selected. After a tap there is no pointer. */
function isHeld(within) {
  const hovered = matchMedia('(hover: hover)').matches && document.querySelector(`${within}:hover`)
  const selected = document.getSelection()
  return Boolean(hovered || document.activeElement?.closest(within) || (selected && !selected.isCollapsed))
}

const HANDS = ['pointerover', 'pointerout', 'focusin', 'focusout', 'selectionchange']

/** Follows isHeld. It looks after an event, because a focus is nowhere while it moves. */
function useHeld(within) {
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (!within) return undefined
    let timer
    const look = () => {
      clearTimeout(timer)
      timer = setTimeout(() => setHeld(isHeld(within)))
    }
    look()
    for (const event of HANDS) document.addEventListener(event, look)
    return () => {
      clearTimeout(timer)
      for (const event of HANDS) document.removeEventListener(event, look)
    }
  }, [within])
  return held
}

/**
 * Loads a resource again while live refresh is on. Not before all of it has been read, in a hidden tab, under a dialog, or while it is
 * paused. A load that was due meanwhile follows at once.
 * @param {import('./resource.js').Resource<any> & {more?: {loading: boolean}}} of  more: the state of a list's further pages
 * @param {string | undefined} within a selector of what keeps it paused while it is used
 * @returns {{on: boolean, paused: boolean, stopped: boolean, setStopped: (stopped: boolean) => void}} stopped: paused by the button
 */
export function useLive({ reload, loading, more, at }, within) {
  const [on, setOn] = useState(chosen)
  const [stopped, setStopped] = useState(false)
  const held = useHeld(on && within)
  useEffect(() => {
    const follow = () => {
      setOn(chosen)
      setStopped(false)
    }
    document.addEventListener(EVENT, follow)
    return () => document.removeEventListener(EVENT, follow)
  }, [])
  const reading = loading || more?.loading
  const paused = on && (stopped || held)
  const waited = useRef(false)
  useEffect(() => {
    if (!on || reading) return undefined
    if (paused) {
      waited.current = true
      return undefined
    }
    const load = () => isBusy() || (within && isHeld(within)) || reload()
    if (waited.current && Date.now() - at >= EVERY_MS) load()
    waited.current = false
    const timer = setInterval(load, EVERY_MS)
    return () => clearInterval(timer)
  }, [on, paused, reading, at, reload])
  return { on, paused, stopped, setStopped }
}
