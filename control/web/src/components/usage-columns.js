// Columns of usage tables: speed and attempts.
import { duration } from '../format.js'
import { html } from '../html.js'
import { causesText, FAILURE_COLUMNS, failedAttempts } from './attempts.js'

const speed = (label, title, value) => ({
  label,
  title,
  num: true,
  sort: value,
  cell: (row) => html`<span class="nowrap">${duration(value(row))}</span>`,
})
const latency = (percentile) =>
  speed(`p${percentile}`, `Latency, ${percentile}th percentile`, (row) => row.latency?.[`p${percentile}Ms`])
const firstToken = (percentile) =>
  speed(
    `First token p${percentile}`,
    `Time to first token of streams, ${percentile}th percentile`,
    (row) => row.timeToFirstToken?.[`p${percentile}Ms`],
  )

export const LATENCY_P95 = latency(95)
export const FIRST_TOKEN_P95 = firstToken(95)

export const SPEED_COLUMNS = [latency(50), latency(90), LATENCY_P95, latency(99), firstToken(50), FIRST_TOKEN_P95]

/** Failed attempts with their causes, requests rescued by a fallback, and circuit openings. */
export const ATTEMPT_COLUMNS = [
  {
    label: 'Attempts failed',
    title: 'At providers, also if a fallback served the request',
    num: true,
    sort: ({ attempts }) => failedAttempts(attempts),
    cell: ({ attempts }) => causesText(attempts),
  },
  ...FAILURE_COLUMNS.slice(-2),
]
