// Points in time in a page's URL: as an input for date and time has them, as RFC 3339, or a date. All are in UTC.
import { startOf } from './violations.js'

/** RFC 3339 for the API; with "days", so many days after the midnight of a date. Empty if the text is no time since 1971. */
export function instantOf(text, days = 0) {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return startOf(text, days)
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`)
  return ms >= Date.UTC(1971, 0) ? new Date(ms).toISOString() : ''
}

/** The value of an input for date and time, which has no zone. What such an input has put into the URL stays, also if its year is not typed yet. */
export function inputValueOf(text, days = 0) {
  if (/^\d{4,}-\d\d-\d\dT[\d:.]+$/.test(text)) return text
  return instantOf(text, days).replace(/(:00)?(\.000)?Z$/, '')
}
