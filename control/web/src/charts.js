// The overview's charts, and their data as a table.
import { Chart } from './chart.js'
import { Money } from './components/money.js'
import { OUTCOME_COLUMNS } from './components/outcomes.js'
import { Card } from './components/page.js'
import { PROMPT_CACHE_COLUMNS } from './components/prompt-cache.js'
import { Table } from './components/table.js'
import { atMost, compact, count, duration, hitRate, money, percent, timestamp } from './format.js'
import { html } from './html.js'
import { notServed } from './outcomes.js'
import { series, share } from './usage.js'

const rate = (value) => (value === null ? '–' : `${Math.round(value * 10) / 10}%`)

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
    format: atMost,
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

export function Charts({ span, rows }) {
  const points = series(span, rows)
  const times = span.slots
  return html`<div class="charts">${CHARTS.map(({ title, format, scale, lines, bars, whole }) => {
    const seriesData = lines.map(([label, value]) => ({
      label,
      values: times.map((_, i) => (points[i] ? value(points[i]) : null)),
    }))
    return html`<${Card} title=${title} key=${title}><${Chart} title=${`${title}, ${span.label}`} times=${times} by=${span.by}
      lines=${seriesData} bars=${bars} whole=${whole} format=${format} scale=${scale} /><//>`
  })}</div>
  <details class="card figures"><summary>Show chart data as a table</summary>
    <${Table} caption=${`Usage by ${span.by}, ${span.label}`} columns=${columns(span)} rows=${points} rowKey=${(row) => row.time} />
  </details>`
}

function columns({ by }) {
  const time = (row) => {
    const text = timestamp(new Date(row.time).toISOString())
    return by === 'hour' ? text.slice(11, 16) : text.slice(0, 10)
  }
  return [
    { label: by === 'hour' ? 'Hour (UTC)' : 'Day (UTC)', head: true, cell: time },
    { label: 'Cost', num: true, cell: (row) => html`<${Money} of=${row.cost} />` },
    ...OUTCOME_COLUMNS,
    { label: 'Input tokens', num: true, cell: (row) => count(row.promptTokens) },
    { label: 'Output tokens', num: true, cell: (row) => count(row.completionTokens) },
    ...PROMPT_CACHE_COLUMNS,
    { label: 'Cache hit rate', num: true, cell: (row) => hitRate(row) },
    { label: 'Not served', num: true, cell: (row) => percent(notServed(row.outcomes), row.requests) },
    { label: 'p50', num: true, cell: (row) => atMost(row.latency?.p50Ms) },
    { label: 'p95', num: true, cell: (row) => atMost(row.latency?.p95Ms) },
  ]
}
