// Whether a failed attempt is repeated, and when.
import { httpDate } from './date.js'

const MAX_SERVER_PAUSE_MS = 60_000
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 8_000
const SPREAD_PER_CALL_MS = 100
const MAX_SPREAD_MS = 10_000

/** A failed attempt. A status is null if no usable response arrived. */
export interface FailedAttempt {
  status: number | null
  headers: Headers | null
}

/**
 * Whether an attempt may be repeated. If a call is not repeatable, it makes a change that must not be made twice.
 * Such a call is repeated only if the gateway has not started it: after a 429, or after a 503 that asks for a retry.
 */
export function mayRepeat({ status, headers }: FailedAttempt, repeatable: boolean): boolean {
  const asked = headers?.get('x-should-retry')
  if (asked === 'false') return false
  if (!repeatable) return status === 429 || (status === 503 && asked === 'true')
  return asked === 'true' || status === null || status === 408 || status === 409 || status === 429 || status >= 500
}

/** A pause before an attempt. */
export interface Pause {
  ms: number
  /** Whether the server asked for it. */
  asked: boolean
}

/**
 * The pause before the next attempt, after `attempts` failed attempts. It is the pause that the server asks for. If
 * the server asks for none, the pause doubles from 500 ms to 8 s. A random factor from 0.75 to 1 shortens it, so that
 * clients do not retry together. If the server asks for more than a minute, the result is null. `waiting` is the
 * number of the client's calls that are already in a pause because the server asked for it. Each of these calls adds
 * 100 ms, shortened by the same kind of factor, so that the calls resume one after another.
 */
export function pauseBefore(
  headers: Headers | null,
  attempts: number,
  nowMs: number,
  random: () => number,
  waiting = 0,
): Pause | null {
  const wanted = headers && serverPauseMs(headers, nowMs)
  if (wanted && wanted > MAX_SERVER_PAUSE_MS) return null
  if (wanted) {
    const spreadMs = Math.min(MAX_SPREAD_MS, SPREAD_PER_CALL_MS * waiting)
    return { ms: wanted + (spreadMs > 0 ? (1 - random() / 4) * spreadMs : 0), asked: true }
  }
  const ms = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1)) * (1 - random() / 4)
  return { ms, asked: false }
}

/** The wait that a response asks for, in milliseconds; null if there is none or it has passed. */
export function serverPauseMs(headers: Headers, nowMs: number): number | null {
  const ms = decimal(headers.get('retry-after-ms'))
  if (ms !== null) return ms
  const text = headers.get('retry-after')
  const seconds = decimal(text)
  if (seconds !== null) return seconds * 1000
  const wait = httpDate(text) - nowMs
  return wait > 0 ? wait : null
}

function decimal(text: string | null): number | null {
  return text !== null && /^\d+(\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : null
}
