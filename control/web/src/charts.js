// The overview's charts and their data as a table.
import { Chart } from './chart.js'
import { Money } from './components/money.js'
import { OUTCOME_COLUMNS } from './components/outcomes.js'
import { Card } from './components/page.js'
import { PROMPT_CACHE_COLUMNS } from './components/prompt-cache.js'
import { Table } from './components/table.js'
import { compact, count, duration, hitRate, money, percent } from './format.js'
import { html } from './html.js'
import { notServed } from './outcomes.js'
import { slotWords } from './ranges.js'
import { series, share } from './usage.js'

const rate = (value) => (value === null ? '–' : `${Math.round(value * 10) / 10}%`)

/**
 * Each chart has one or two lines. A comparison with the previous range shows the line "compared". If a chart does
 * not have that line, it shows the first line. Charts with "durations" have no figures by the minute.
 */
const CHARTS = [
  { title: 'Spend', format: money, lines: [['Cost', (row) => row.cost]], bars: true },
  {
    title: 'Requests',
    whole: true,
    format: compact,
    bars: true,
    lines: [
      ['Total', (row) => row.requests],
      ['Served', (row) => row.outcomes.served],
    ],
  },
  {
    title: 'Requests not served',
    whole: true,
    format: compact,
    compared: ['Not served', (row) => notServed(row.outcomes)],
    lines: [
      ['Refused', (row) => row.outcomes.refused],
      ['Failed', (row) => row.outcomes.failed],
    ],
  },
  {
    title: 'Tokens',
    whole: true,
    format: compact,
    bars: true,
    lines: [
      ['Total', (row) => row.promptTokens + row.completionTokens],
      ['Output', (row) => row.completionTokens],
    ],
  },
  {
    title: 'Prompt cache of providers',
    whole: true,
    format: compact,
    bars: true,
    lines: [
      ['Tokens read', (row) => row.promptCache.readTokens],
      ['Tokens written', (row) => row.promptCache.writeTokens],
    ],
  },
  {
    title: 'Latency',
    durations: true,
    format: duration,
    scale: duration,
    lines: [
      ['p95', (row) => row.latency?.p95Ms ?? null],
      ['Median', (row) => row.latency?.p50Ms ?? null],
    ],
  },
  {
    title: 'Shares of cache hits and of requests not served',
    format: rate,
    lines: [
      ['Cache hits', (row) => share(row.hits, row.hits + row.misses)],
      ['Not served', (row) => share(notServed(row.outcomes), row.requests)],
    ],
  },
]

/** The charts and columns that the overview of all projects can fill. */
export const TRAFFIC_CHARTS = CHARTS.slice(0, 3)

/**
 * The charts of a report and their data as a table.
 * @param {{span: {slots: number[], step: string, label: string}, rows: object[], before?: {span: object, rows: object[]} | null,
 *   charts?: object[], columns?: object[]}} props  before: the previous range; each chart then shows one line for both ranges
 */
export function Charts({ span, rows, before, charts = CHARTS, columns = COLUMNS }) {
  const points = series(span, rows)
  const drawn = charts.filter(({ durations }) => !durations || span.step !== 'minute')
  const pointsBefore = before && series(before.span, before.rows)
  return html`<div class="charts">${drawn.map((chart) => html`<${OneChart} key=${chart.title} of=${chart} span=${span} points=${points} before=${pointsBefore} />`)}</div>
  <details class="card figures"><summary>Show chart data as a table</summary>
    <${Table} caption=${`Usage by ${span.step}, ${span.label}`} columns=${[timeColumn(span), ...columns]} rows=${points} rowKey=${(row) => row.time} />
  </details>`
}

function OneChart({ of: chart, span, points, before }) {
  const { title, format, scale, bars, whole } = chart
  const valuesOf = (rows, value) => span.slots.map((_, i) => (rows[i] ? value(rows[i]) : null))
  const [label, value] = chart.compared ?? chart.lines[0]
  const both = () => [
    { label, values: valuesOf(points, value) },
    { label: 'Range before', values: valuesOf(before, value) },
  ]
  const lines = before ? both() : chart.lines.map(([label, value]) => ({ label, values: valuesOf(points, value) }))
  return html`<${Card} title=${title}><${Chart} title=${`${title}, ${span.label}`} times=${span.slots} step=${span.step}
    lines=${lines} bars=${bars} whole=${whole} format=${format} scale=${scale} /><//>`
}

const STEP_LABELS = { minute: 'Minute', hour: 'Hour' }

function timeColumn({ step }) {
  const cell = (row) => slotWords(row.time, step)
  return step === 'day'
    ? { label: 'Day (UTC)', head: true, cell }
    : { label: STEP_LABELS[step], time: true, head: true, cell }
}

const COLUMNS = [
  { label: 'Cost', num: true, cell: (row) => html`<${Money} of=${row.cost} />` },
  ...OUTCOME_COLUMNS,
  { label: 'Input tokens', num: true, cell: (row) => count(row.promptTokens) },
  { label: 'Output tokens', num: true, cell: (row) => count(row.completionTokens) },
  ...PROMPT_CACHE_COLUMNS,
  { label: 'Cache hit rate', num: true, cell: (row) => hitRate(row) },
  { label: 'Not served', num: true, cell: (row) => percent(notServed(row.outcomes), row.requests) },
  { label: 'p50', num: true, cell: (row) => duration(row.latency?.p50Ms) },
  { label: 'p95', num: true, cell: (row) => duration(row.latency?.p95Ms) },
  { label: 'First token p95', num: true, cell: (row) => duration(row.timeToFirstToken?.p95Ms) },
]
export const TRAFFIC_COLUMNS = COLUMNS.slice(0, 1 + OUTCOME_COLUMNS.length)
