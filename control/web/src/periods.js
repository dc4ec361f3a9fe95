// The periods of GET /api/usage: the calendar day, the ISO week and the month, in UTC.
export const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
export const PERIODS = ['day', 'week', 'month']
/** How far back the hours of a day are kept. */
const HOURS_KEPT_DAYS = 8

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
export function isoDay(ms) {
  return new Date(ms).toISOString().slice(0, 10)
}

/** @returns {[number, number]} first instant, and the first one after it, in ms */
function bounds(kind, offset, now) {
  const date = new Date(now)
  if (kind === 'month') {
    const at = (months) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months)
    return [at(offset), at(offset + 1)]
  }
  const today = Math.floor(now / DAY_MS) * DAY_MS
  if (kind === 'day') return [today + offset * DAY_MS, today + (offset + 1) * DAY_MS]
  const monday = today - ((date.getUTCDay() + 6) % 7) * DAY_MS
  return [monday + offset * 7 * DAY_MS, monday + (offset + 1) * 7 * DAY_MS]
}

/** The number of an ISO week: the week that has the year's first Thursday is 1. */
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
 * A period and what to ask GET …/usage for it.
 * @param {string} kind day, week or month
 * @param {number} offset 0 for the present one, -1 for the one before
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
    earlier: kind !== 'day' || -offset < HOURS_KEPT_DAYS - 1,
    later: offset < 0,
  }
}
