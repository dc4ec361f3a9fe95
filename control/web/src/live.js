// Live refresh: a page that shows current events reloads every few seconds if the user has switched live refresh on.
// The browser stores the choice. Live refresh pauses while the user reads or uses something that would move.
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
    // Storage is blocked, so the choice lasts until the page is closed.
  }
  document.dispatchEvent(new Event(EVENT))
}

/**
 * Whether a reload now would be useless or would disturb the user. A reload does not disturb an open drawer, because
 * the drawer keeps its content.
 */
function isBusy() {
  return document.hidden || document.querySelector('dialog:modal:not(.drawer)') !== null
}

/**
 * Whether the pointer or the focus is in an element that the selector matches, or text is selected. Devices that
 * cannot hover have no pointer after a tap.
 */
function isHeld(within) {
  const hovered = matchMedia('(hover: hover)').matches && document.querySelector(`${within}:hover`)
  const selected = document.getSelection()
  return Boolean(hovered || document.activeElement?.closest(within) || (selected && !selected.isCollapsed))
}

const HANDS = ['pointerover', 'pointerout', 'focusin', 'focusout', 'selectionchange']

/**
 * The current value of isHeld. The check runs after each event. During a focus event, no element has the focus.
 */
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
 * Reloads a resource while live refresh is on. It does not reload in a hidden tab, under a dialog, during a pause, or
 * before the whole resource has been read. A reload that became due during a pause follows at once.
 * @param {import('./resource.js').Resource<any> & {more?: {loading: boolean}}} of  more: the state of loading further pages of a list
 * @param {string | undefined} within a selector for the element whose use pauses live refresh
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
