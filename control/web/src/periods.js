// The periods of GET /api/usage: the calendar day, the ISO week and the month, in UTC.
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
export const PERIODS = ['day', 'week', 'month']
/** Retention: hourly usage is kept for eight days, daily usage for 400. */
const HOURS_KEPT_DAYS = 8
const DAYS_KEPT = 400

const dayName = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
const dateName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** A day as 2026-11-21. */
function isoDay(ms) {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Midnight (UTC) on the Monday of the ISO week. */
function mondayOf(ms) {
  const day = Math.floor(ms / DAY_MS) * DAY_MS
  return day - ((new Date(ms).getUTCDay() + 6) % 7) * DAY_MS
}

/** @returns {[number, number]} start (inclusive) and end (exclusive), in ms */
function bounds(kind, offset, now) {
  const date = new Date(now)
  if (kind === 'month') {
    const at = (months) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months)
    return [at(offset), at(offset + 1)]
  }
  const [length, first] = kind === 'day' ? [DAY_MS, Math.floor(now / DAY_MS) * DAY_MS] : [7 * DAY_MS, mondayOf(now)]
  return [first + offset * length, first + (offset + 1) * length]
}

/** The number of past periods that retention still covers, at least in part. */
export function maxBack(kind, now = Date.now()) {
  if (kind === 'day') return HOURS_KEPT_DAYS - 1
  const oldest = now - DAYS_KEPT * DAY_MS
  if (kind === 'week') return (mondayOf(now) - mondayOf(oldest)) / (7 * DAY_MS)
  const months = (ms) => new Date(ms).getUTCFullYear() * 12 + new Date(ms).getUTCMonth()
  return months(now) - months(oldest)
}

/** The ISO week number: week 1 contains the year's first Thursday. */
function weekNumber(monday) {
  const thursday = monday + 3 * DAY_MS
  const newYear = Date.UTC(new Date(thursday).getUTCFullYear(), 0)
  return 1 + Math.floor((thursday - newYear) / (7 * DAY_MS))
}

function label(kind, start, end) {
  if (kind === 'day') return dayName.format(start)
  if (kind === 'month') return monthName.format(start)
  return `Week ${weekNumber(start)}: ${dateName.formatRange(start, end - 1)}`
}

/**
 * A period with the query parameters of GET …/usage for it.
 * @param {string} kind day, week or month
 * @param {number} offset 0 for the current one, -1 for the previous one
 * @param {number} now ms
 */
export function period(kind, offset = 0, now = Date.now()) {
  const [start, end] = bounds(kind, offset, now)
  const step = kind === 'day' ? HOUR_MS : DAY_MS
  const slots = Array.from({ length: (end - start) / step }, (_, i) => start + i * step)
  return {
    kind,
    label: label(kind, start, end),
    from: isoDay(start),
    to: isoDay(Math.min(end - 1, Math.max(now, start))),
    by: kind === 'day' ? 'hour' : 'day',
    slots,
    earlier: -offset < maxBack(kind, now),
    later: offset < 0,
  }
}
