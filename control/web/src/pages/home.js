// A project's overview: budget, totals and charts of a day, a week or a month.
import { get, path } from '../api.js'
import { Charts } from '../charts.js'
import { AttemptsCard, rescueTile } from '../components/attempts.js'
import { ButtonLink } from '../components/button.js'
import { ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { CausesCard, OUTCOME_COLUMNS, outcomeTiles } from '../components/outcomes.js'
import { Card, Page } from '../components/page.js'
import { PeriodBar, usePeriod } from '../components/period.js'
import { PROMPT_CACHE_COLUMNS } from '../components/prompt-cache.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { Tiles } from '../components/tiles.js'
import { atMost, compact, count, hitRate, money, moneyExact, percent, plural, timestamp } from '../format.js'
import { html } from '../html.js'
import { REQUESTS_MEAN } from '../outcomes.js'
import { useResource } from '../resource.js'
import { to } from '../router.js'
import { useOrder } from '../sort.js'
import { budgetShare, downloadHref, share } from '../usage.js'

export function HomePage({ project }) {
  const selected = usePeriod()
  const { kind, back, span } = selected
  const usage = useResource((signal) => load(project.id, span, signal), [kind, back])
  return html`<${Page} title="Overview" of=${project.name} actions=${html`<${Refresh} of=${usage} />`}>
    <${PeriodBar} of=${selected} />
    <${Loaded} of=${usage} what="usage" rows=${8}>${(data) => html`
      <${Budget} budget=${data.budget} project=${project} />
      <${Tiles} tiles=${totalTiles(data.totals, project)} />
      ${data.totals.requests === 0 ? html`<${NoRequests} project=${project} />` : html`<${Details} data=${data} project=${project} />`}`}<//>
  <//>`
}

/** The usage of a period, grouped by time, by model and by key. */
async function load(id, { from, to: end, by, ...span }, signal) {
  const usageBy = (by) => get(path`projects/${id}/usage`, { query: { from, to: end, by }, signal })
  const [times, models, keys] = await Promise.all([usageBy(by), usageBy('model'), usageBy('key')])
  return {
    span: { ...span, from, to: end, by },
    budget: times.budget,
    totals: times.totals,
    times: times.rows,
    models: models.rows,
    keys: keys.rows,
  }
}

function Budget({ budget, project }) {
  const share = budgetShare(budget)
  const look = share >= 100 ? 'bad' : share >= 80 ? 'warn' : ''
  return html`<${Card} title="Budget" look="budget">
    <p class="budget-line"><span><strong><${Money} of=${budget.used} /></strong> of <${Money} of=${budget.limit} /> used this ${budget.period}</span>
      <span><${Money} of=${budget.remaining} /> remaining</span></p>
    <div class=${`bar ${look}`} role="progressbar" aria-label="Budget used" aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${Math.round(share)} aria-valuetext=${`${percent(budget.used, budget.limit)} used`}><span style=${{ width: `${share}%` }}></span></div>
    <p class="muted">${percent(budget.used, budget.limit)} used. Resets on ${timestamp(budget.end).slice(0, 10)} (UTC).${' '}
      ${share >= 80 && html`<a href=${to('projects', project.id, 'settings')}>Change budget</a>`}</p>
  <//>`
}

function totalTiles(totals, project) {
  const tokens = totals.promptTokens + totals.completionTokens
  return [
    [
      'Spend',
      money(totals.cost),
      moneyExact(totals.cost),
      totals.estimated > 0 ? `cost of ${plural(totals.estimated, 'request')} estimated` : 'no estimated costs',
    ],
    ...outcomeTiles(totals, project),
    [
      'Tokens',
      compact(tokens),
      count(tokens),
      `${compact(totals.promptTokens)} in, ${compact(totals.completionTokens)} out`,
    ],
    [
      'Cache hit rate',
      hitRate(totals),
      '',
      `${count(totals.hits)} of ${plural(totals.hits + totals.misses, 'lookup')}`,
    ],
    promptCacheTile(totals.promptCache),
    rescueTile(totals),
    [
      'Latency (p95)',
      atMost(totals.latency?.p95Ms),
      'Upper bound of the histogram bucket. Each bucket’s bound is 1.8 times the previous one.',
      totals.latency ? `median ${atMost(totals.latency.p50Ms)}` : 'no data',
    ],
  ]
}

/** What providers' prompt caches saved. Less than nothing, if tokens were written and seldom read. */
function promptCacheTile({ readTokens, writeTokens, saved }) {
  return [
    'Prompt cache saved',
    money(saved),
    moneyExact(saved),
    `${compact(readTokens)} tokens read, ${compact(writeTokens)} written`,
  ]
}

function NoRequests({ project }) {
  return html`<${Empty} title="No requests in this period">
    <p>Send a request with one of the project’s API keys, or select another period.</p>
    <div class="buttons">
      <${ButtonLink} href=${to('projects', project.id, 'keys', 'new')} look="primary" changes>Create key<//>
      <${ButtonLink} href=${to('projects', project.id, 'playground')}>Open the playground<//>
    </div>
  <//>`
}

function Details({ data, project }) {
  const byModel = useOrder('sort-models')
  const byKey = useOrder('sort-keys')
  const byCost = (rows) => [...rows].sort((a, b) => b.cost - a.cost || b.requests - a.requests)
  return html`
    <${CausesCard} totals=${data.totals} project=${project} />
    <${Charts} span=${data.span} rows=${data.times} />
    <${Card} title="By model"><p class="muted">Requests: ${REQUESTS_MEAN[0].toLowerCase() + REQUESTS_MEAN.slice(1)}</p><${Table} ...${byModel} caption="Usage by model" columns=${MODEL_COLUMNS} rows=${byCost(data.models)} rowKey=${(row) => row.model} /><//>
    <${AttemptsCard} rows=${data.models} />
    <${Card} title="By API key"><${Table} ...${byKey} caption="Usage by API key" columns=${keyColumns(project)} rows=${byCost(data.keys)} rowKey=${(row) => row.keyId} /><//>
    <${Downloads} project=${project} span=${data.span} />`
}

const USAGE_COLUMNS = [
  ...OUTCOME_COLUMNS,
  {
    label: 'Cache hit rate',
    sort: ({ hits, misses }) => share(hits, hits + misses),
    num: true,
    cell: (row) => hitRate(row),
  },
  { label: 'Input tokens', sort: (row) => row.promptTokens, num: true, cell: (row) => count(row.promptTokens) },
  {
    label: 'Output tokens',
    sort: (row) => row.completionTokens,
    num: true,
    cell: (row) => count(row.completionTokens),
  },
  ...PROMPT_CACHE_COLUMNS,
  { label: 'Latency (p95)', sort: (row) => row.latency?.p95Ms, num: true, cell: (row) => atMost(row.latency?.p95Ms) },
  {
    label: 'Cost',
    sort: (row) => row.cost,
    num: true,
    cell: (row) => html`<${Money} of=${row.cost} />`,
  },
]
const MODEL_COLUMNS = [
  {
    label: 'Model',
    sort: (row) => row.model,
    head: true,
    cell: (row) => html`<${ModelName} of=${row.model} none="none" />`,
  },
  ...USAGE_COLUMNS,
]

function keyColumns(project) {
  const name = (row) =>
    row.keyName === null
      ? html`<code>${row.keyId}</code> <span class="muted">(deleted)</span>`
      : html`<${Name} text=${row.keyName} href=${to('projects', project.id, 'keys', row.keyId)} />`
  return [{ label: 'API key', sort: (row) => row.keyName, head: true, cell: name }, ...USAGE_COLUMNS]
}

function Downloads({ project, span }) {
  const link = (by, format, label) =>
    html`<li key=${label}><a href=${downloadHref(project.id, { ...span, by }, format)} download>${label}</a></li>`
  return html`<${Card} title="Downloads">
    <p class="muted">Usage for ${span.label}, with unrounded costs.</p>
    <ul class="links">
      ${link(span.by, 'csv', `By ${span.by}, CSV`)}
      ${link(span.by, 'ndjson', `By ${span.by}, NDJSON`)}
      ${link('all', 'csv', 'By day, key and model, CSV')}
      ${link('all', 'ndjson', 'By day, key and model, NDJSON')}
    </ul>
  <//>`
}
