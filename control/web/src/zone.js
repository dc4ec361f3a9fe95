// The time zone in which the dashboard shows times: UTC or the browser's zone. The browser stores the choice.
import { useEffect, useState } from 'preact/hooks'

const STORED = 'postern-zone'
const EVENT = 'postern:zone'
const MINUTE_MS = 60_000
export const ZONES = ['UTC', 'local']

let chosen = stored()

function stored() {
  try {
    return localStorage.getItem(STORED) === 'local' ? 'local' : 'UTC'
  } catch {
    return 'UTC' // storage is blocked
  }
}

/** The zone in which all times are shown, one of ZONES. */
export const zone = () => chosen

/** @param {string} name one of ZONES */
export function setZone(name) {
  chosen = name
  try {
    localStorage.setItem(STORED, name)
  } catch {
    // Storage is blocked, so the choice lasts until the page is closed.
  }
  if (globalThis.document) document.dispatchEvent(new Event(EVENT))
}

/** Rerenders a component when the zone changes. */
export function useZone() {
  const [name, setName] = useState(chosen)
  useEffect(() => {
    const follow = () => setName(chosen)
    document.addEventListener(EVENT, follow)
    return () => document.removeEventListener(EVENT, follow)
  }, [])
  return name
}

/** The name of the zone, shown after a time or in a column's header. */
export const zoneWords = () => (chosen === 'local' ? 'local time' : 'UTC')

/** The label of a time with the zone, such as Created (UTC). */
export const zoned = (label) => `${label} (${zoneWords()})`

/** A time as text in the zone, such as 2026-11-21T07:31:04.123. @param {number} ms */
export function textOf(ms) {
  const shift = chosen === 'local' ? new Date(ms).getTimezoneOffset() * MINUTE_MS : 0
  return new Date(ms - shift).toISOString().slice(0, -1)
}

/** The time in ms of a text without a zone, such as 2026-11-21T07:31 in a field. NaN if the text is not a time. */
export const timeOf = (text) => Date.parse(chosen === 'local' ? text : `${text}Z`)
