// The time ranges of pages: in the URL, in API queries, and in words. Ranges of days consist of whole UTC days,
// including today. Other ranges begin and end at a time of day.
import { textOf, timeOf, zoneWords } from './zone.js'

const MINUTE_MS = 60_000
const TEN_MINUTES_MS = 10 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const STEPS_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }
/** Retention: hourly usage is kept for eight days, and daily usage for 400. */
const HOURS_KEPT_DAYS = 8
const DAYS_KEPT = 400

/** Each range has a name for the URL, a label and, if the page sends it as dates, its number of days. */
const ALL = [
  ['today', 'Today', 1],
  ['1h', 'Last hour'],
  ['2h', '2 hours'],
  ['24h', '24 hours'],
  ['7d', '7 days', 7],
  ['30d', '30 days', 30],
  ['90d', '90 days', 90],
  ['month', 'This month'],
  ['all', 'All', DAYS_KEPT + 1],
  ['custom', 'Custom'],
]
export const CUSTOM = 'custom'

/**
 * The ranges for a project's overview, for a project's costs, for the overview of all projects, and for the
 * violations of all projects. Costs are kept by the day.
 */
export const USAGE_RANGES = ['1h', '24h', '7d', '30d', '90d', 'month', CUSTOM]
export const DAY_RANGES = ['7d', '30d', '90d', 'month', CUSTOM]
export const OVERVIEW_RANGES = ['2h', '24h', '7d', '30d', '90d', 'month', CUSTOM]
export const VIOLATION_RANGES = ['today', '24h', '7d', '30d', 'all']

/** Whether a page's custom range may begin and end at a time of day. */
export const hasTimes = (names) => names.includes('1h') || names.includes('2h')

export const labelOf = (name) => ALL.find(([one]) => one === name)[1]

/** A UTC day in the form 2026-11-21. */
export const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10)

/** Whether a text is a date and not a time. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
const isTime = (text) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text))

/** The first and the last day of a range. Undefined for a range of hours. */
function daysOf(name, now) {
  if (name === 'month') return { from: `${dayOf(now).slice(0, 8)}01`, to: dayOf(now) }
  const days = ALL.find(([one]) => one === name)[2]
  return days && { from: dayOf(now - (days - 1) * DAY_MS), to: dayOf(now) }
}

/**
 * The range in a URL's query. If the query does not have one of the page's ranges, the result is the page's default.
 * @param {{range: string, from: string, to: string}} query
 * @param {string[]} names the page's ranges
 * @param {string} standard the page's own range
 * @returns {{name: string, from?: string, to?: string}} from, to: for a custom range, either both dates or both times
 */
export function readRange({ range, from, to: end }, names, standard) {
  const both = (is) => is(from) && is(end)
  if (range === CUSTOM && names.includes(CUSTOM) && (both(isDay) || (both(isTime) && hasTimes(names))))
    return { name: CUSTOM, from, to: end }
  return { name: range !== CUSTOM && names.includes(range) ? range : standard }
}

/** The query of …/usage for a range, including the step of the chart. */
export function usageQuery({ name, from, to: end }, now = Date.now()) {
  if (name === CUSTOM) return { from, to: end, by: isDay(from) ? stepOfDays(from, end, now) : 'time' }
  if (name === '7d' || !daysOf(name, now)) return { range: name, by: 'time' }
  return { ...daysOf(name, now), by: 'day' }
}

/** The step of a chart. A recent range of at most two days is shown by the hour. */
function stepOfDays(from, end, now) {
  const isRecent = Date.parse(from) > now - HOURS_KEPT_DAYS * DAY_MS
  return isRecent && Date.parse(end) - Date.parse(from) <= DAY_MS ? 'hour' : 'day'
}

export const dayQuery = ({ name, from, to: end }, now = Date.now()) =>
  name === CUSTOM ? { from, to: end } : daysOf(name, now)

/** The beginning of one of VIOLATION_RANGES in RFC 3339 format. Days begin at midnight in the dashboard's zone. */
export function sinceOf(name, now = Date.now()) {
  const days = ALL.find(([one]) => one === name)[2]
  if (!days) return new Date(Math.floor((now - DAY_MS) / TEN_MINUTES_MS) * TEN_MINUTES_MS).toISOString()
  const noon = timeOf(`${textOf(now).slice(0, 10)}T12:00`) // a day is not 24 hours long when clocks change
  return new Date(timeOf(`${textOf(noon - (days - 1) * DAY_MS).slice(0, 10)}T00:00`)).toISOString()
}

/** The initial custom range, which covers the days of another range. */
export function customOf(name, now = Date.now()) {
  const days = { from: dayOf(now - (name === '1h' || name === '2h' ? 0 : DAY_MS)), to: dayOf(now) }
  return { range: CUSTOM, ...(daysOf(name, now) ?? days) }
}

/** The given number of whole hours up to and including the current one. */
export function presentHours(number, now = Date.now()) {
  const end = Math.floor(now / HOUR_MS + 1) * HOUR_MS
  return { from: new Date(end - number * HOUR_MS).toISOString(), to: new Date(end).toISOString() }
}

/** The minimum and maximum for the fields of a custom range. */
export function boundsOf(isOfTimes, now = Date.now()) {
  if (!isOfTimes) return { min: dayOf(now - DAYS_KEPT * DAY_MS), max: dayOf(now) }
  const first = Math.ceil((now - HOURS_KEPT_DAYS * DAY_MS) / TEN_MINUTES_MS) * TEN_MINUTES_MS // the field counts its steps from this time
  return { min: textOf(first).slice(0, 16), max: textOf(now + DAY_MS).slice(0, 16) }
}

/**
 * The times at which a report's steps begin, in ms.
 * @param {{from: string, to: string, step: 'minute' | 'hour' | 'day'}} report  to: the last day, or a time after the last step
 */
export function slotsOf({ from, to: end, step }) {
  const size = STEPS_MS[step]
  const first = Math.floor(Date.parse(from) / size) * size
  const after = Date.parse(end) + (isDay(end) ? DAY_MS : 0)
  return Array.from({ length: Math.max(0, Math.ceil((after - first) / size)) }, (_, i) => first + i * size)
}

/**
 * The range of an overview as its first and last day. In the report, a range of days extends from one UTC midnight to
 * another.
 */
export function shownRange({ from, to: end, step }) {
  return step === 'day' ? { from: dayOf(Date.parse(from)), to: dayOf(Date.parse(end) - 1) } : { from, to: end }
}

export function rangeWords({ from, to: end }) {
  if (isDay(from)) return from === end ? `${from} (UTC)` : `${from} to ${end} (UTC)`
  const [first, last] = [from, end].map((at) => textOf(Date.parse(at)).slice(0, 16).replace('T', ' '))
  return `${first} to ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last} (${zoneWords()})`
}

/** The beginning of a step in words. Whole days are in UTC. @param {number} ms */
export function slotWords(ms, step) {
  return step === 'day' ? dayOf(ms) : textOf(ms).slice(0, 16).replace('T', ' ')
}
