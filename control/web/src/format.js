// Numbers, amounts of money and times as text. An amount is a number of dollars, exact to 12 decimal places.
import { textOf } from './zone.js'

const LOCALE = 'en-US'
const MAX_PLACES = 12
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const integer = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const twoPlaces = decimals(2, 2)
const exact = decimals(2, MAX_PLACES)
const plain = decimals(0, MAX_PLACES)
const significant = new Intl.NumberFormat(LOCALE, { minimumSignificantDigits: 1, maximumSignificantDigits: 3 })

function decimals(minimumFractionDigits, maximumFractionDigits) {
  return new Intl.NumberFormat(LOCALE, { minimumFractionDigits, maximumFractionDigits })
}

/** Rounds the decimal digits in the JSON, not their binary approximation, so 1.005 becomes 1.01. */
function decimal(format, number) {
  return format.format(String(number))
}

/** From this amount on, rounding to three significant digits gives whole cents. */
const CENTS_FROM = 0.09995

/**
 * Dollars to the cent: $1,234.57. A single completion may cost very little. Amounts below ten cents therefore have
 * three significant digits, as in $0.00034, unless they are whole cents.
 */
export function money(dollars) {
  const size = Math.abs(dollars)
  const wholeCents = decimal(exact, size).split('.')[1].length === 2
  const text = decimal(size >= CENTS_FROM || wholeCents ? twoPlaces : significant, size)
  return (dollars < 0 ? '−$' : '$') + text
}

/** Dollars with all digits and at least two decimal places: $0.001234567891. */
export function moneyExact(dollars) {
  return (dollars < 0 ? '−$' : '$') + decimal(exact, Math.abs(dollars))
}

/** Converts cents, which the gateway's headers and streams use, to dollars. */
export function dollarsOf(cents) {
  return Number((cents / 100).toFixed(MAX_PLACES))
}

/** A whole number with separators: 12,345. */
export function count(number) {
  return integer.format(number)
}

/** A whole number, abbreviated from 10,000 on: 1.2M. */
export function compact(number) {
  return Math.abs(number) < 10_000 ? integer.format(number) : short.format(number)
}

/** A number for a text field: no separators, no exponent. */
export function typed(number) {
  return number === null || number === undefined ? '' : decimal(plain, number).replaceAll(',', '')
}

/** A share of a whole, such as 12.5%. A dash if the whole is 0. */
export function percent(part, whole) {
  return whole > 0 ? `${decimals(0, 1).format((part / whole) * 100)}%` : '–'
}

/** The cache hit rate as GET /api/usage defines it: the share of cache lookups that were hits. */
export function hitRate({ hits, misses }) {
  return percent(hits, hits + misses)
}

/** Milliseconds: 812 ms, 1.24 s, 2 min 5 s, 12 h 9 min. */
export function duration(ms) {
  if (ms === null || ms === undefined) return '–'
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`
  if (ms < MINUTE_MS) return `${decimals(0, 2).format(ms / SECOND_MS)} s`
  if (ms >= HOUR_MS) return `${Math.floor(ms / HOUR_MS)} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`
  const seconds = Math.round(ms / SECOND_MS)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Whole seconds in the largest unit that divides them: 1 day, 2 hours, 90 seconds. */
export function span(seconds) {
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ]) {
    if (seconds >= size && seconds % size === 0) return plural(seconds / size, unit)
  }
  return plural(seconds, 'second')
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** An RFC 3339 time in the dashboard's zone: 2026-11-21 07:31:04. */
export function timestamp(rfc3339) {
  return rfc3339 ? textOf(Date.parse(rfc3339)).slice(0, 19).replace('T', ' ') : '–'
}

/** The age of data: 20 s ago, 5 min ago. */
export function age(rfc3339, now = Date.now()) {
  const ms = Math.max(0, now - Date.parse(rfc3339))
  return ms < MINUTE_MS ? `${Math.floor(ms / SECOND_MS)} s ago` : relative(rfc3339, now)
}

/** A figure compared with an earlier one: +12.5%, −3% or no change. A dash if the earlier one was 0. */
export function change(now, before) {
  if (!(before > 0)) return '–'
  const share = (now / before - 1) * 100
  const text = decimals(0, Math.abs(share) < 100 ? 1 : 0).format(Math.abs(share))
  if (text === '0') return 'no change'
  return `${share < 0 ? '−' : '+'}${text}%`
}

/** A time relative to now: just now, 5 min ago, in 3 days. */
export function relative(rfc3339, now = Date.now()) {
  if (!rfc3339) return 'never'
  const ms = Date.parse(rfc3339) - now
  const size = Math.abs(ms)
  if (size < MINUTE_MS) return 'just now'
  const amount =
    size < HOUR_MS
      ? `${Math.floor(size / MINUTE_MS)} min`
      : size < DAY_MS
        ? `${Math.floor(size / HOUR_MS)} h`
        : plural(Math.floor(size / DAY_MS), 'day')
  return ms < 0 ? `${amount} ago` : `in ${amount}`
}

/** A key's masked value: sk_live_…a1B2. The full value is shown only when the key is created. */
export function masked({ prefix, last4 }) {
  return `${prefix}…${last4}`
}
