// Points in time in a page's URL. They have the format of a date and time input, RFC 3339, or a date. All of them are
// in UTC.
import { startOf } from './violations.js'

/**
 * A text as an RFC 3339 time for the API. For a date, the time is midnight UTC, "days" days after the date. For other
 * text that is not a time since 1971, the result is empty.
 */
export function instantOf(text, days = 0) {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return startOf(text, days)
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`)
  return ms >= Date.UTC(1971, 0) ? new Date(ms).toISOString() : ''
}

/**
 * The value for a date and time input. Such an input has no time zone. If such an input has put a value into the URL,
 * the value is kept, even with an incomplete year.
 */
export function inputValueOf(text, days = 0) {
  if (/^\d{4,}-\d\d-\d\dT[\d:.]+$/.test(text)) return text
  return instantOf(text, days).replace(/(:00)?(\.000)?Z$/, '')
}
