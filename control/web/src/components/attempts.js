// Attempts to call providers. A request has one or more, but a cache hit has none. A failure counts toward the model
// whose provider failed, even if another model served the request.
import { count, percent, plural } from '../format.js'
import { html } from '../html.js'
import { share } from '../usage.js'
import { Card } from './page.js'
import { Table } from './table.js'

/** The causes of failed attempts, in the order of their columns. */
export const CAUSES = [
  ['busy', '429', 'The provider answered with 429'],
  ['rejected', 'Other 4xx', 'The provider answered with another 4xx status'],
  ['unavailable', '5xx', 'The provider answered with a 5xx status'],
  ['timeout', 'Timeout', 'The provider did not answer in time'],
  ['connection', 'Not reached', 'No connection to the provider'],
  ['cut', 'Cut', 'The response ended early, or with an error, before its first content'],
  ['unusable', 'Unusable', 'The response could not be read, or was not what the request asks for'],
  ['broken', 'Broken stream', 'A stream that had begun did not end well'],
]

/** @param {{failed: Record<string, number>}} attempts */
export const failedAttempts = ({ failed }) => CAUSES.reduce((sum, [cause]) => sum + failed[cause], 0)

/** The number of failed attempts, with the causes in the title. */
export function causesText(attempts) {
  const causes = CAUSES.filter(([cause]) => attempts.failed[cause] > 0)
  const title = causes.map(([cause, label]) => `${label}: ${count(attempts.failed[cause])}`).join(', ')
  return html`<span title=${title || undefined}>${count(failedAttempts(attempts))}</span>`
}

/** The tile about attempts in the overview. */
export function rescueTile({ attempts }) {
  const failed = failedAttempts(attempts)
  return [
    'Saved by fallback',
    count(attempts.rescued),
    'Requests that a later target served because an earlier one had failed, or was skipped for its open circuit',
    failed === 0 ? 'no failed attempts' : `${count(failed)} of ${plural(attempts.total, 'attempt')} failed`,
  ]
}

/** Columns with the numbers of attempts, of failures by cause, of fallbacks and of circuit openings. */
export const FAILURE_COLUMNS = [
  {
    label: 'Attempts',
    num: true,
    sort: ({ attempts }) => attempts.total,
    cell: ({ attempts }) => count(attempts.total),
  },
  {
    label: 'Attempts failed',
    num: true,
    sort: ({ attempts }) => failedAttempts(attempts),
    cell: ({ attempts }) => count(failedAttempts(attempts)),
  },
  {
    label: 'Failure rate',
    num: true,
    sort: ({ attempts }) => share(failedAttempts(attempts), attempts.total),
    cell: ({ attempts }) => percent(failedAttempts(attempts), attempts.total),
  },
  ...CAUSES.map(([cause, label, title]) => ({
    label,
    title,
    num: true,
    sort: ({ attempts }) => attempts.failed[cause],
    cell: ({ attempts }) => count(attempts.failed[cause]),
  })),
  {
    label: 'Saved by fallback',
    title: 'Requests that a later target served because an earlier one had failed, or was skipped for its open circuit',
    num: true,
    sort: ({ attempts }) => attempts.rescued,
    cell: ({ attempts }) => count(attempts.rescued),
  },
  {
    label: 'Circuit openings',
    title: 'How often the gateway stopped calling a failing target for a while',
    num: true,
    sort: ({ attempts }) => attempts.opened,
    cell: ({ attempts }) => count(attempts.opened),
  },
]

/**
 * The attempts of each row that has failures, most failures first. Renders nothing if no attempt failed.
 * @param {{rows: object[], head: object, by: string, rowKey: (row: object) => string}} props  head: the column that names the row
 */
export function AttemptsCard({ rows, head, by, rowKey }) {
  const failing = rows.filter((row) => failedAttempts(row.attempts) + row.attempts.rescued > 0)
  if (failing.length === 0) return null
  failing.sort(
    (a, b) => failedAttempts(b.attempts) - failedAttempts(a.attempts) || b.attempts.rescued - a.attempts.rescued,
  )
  return html`<${Card} title="Failed attempts">
    <p class="muted">A failure counts for the model whose provider failed, also if a fallback served the request.</p>
    <${Table} caption=${`Failed attempts by ${by}`} columns=${[head, ...FAILURE_COLUMNS]} rows=${failing} rowKey=${rowKey} />
  <//>`
}
