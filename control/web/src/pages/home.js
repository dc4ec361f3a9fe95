// A project's overview: budget, totals and charts of a range, and its usage by model, key or provider.
import { get, path } from '../api.js'
import { Charts } from '../charts.js'
import { AttemptsCard, rescueTile } from '../components/attempts.js'
import { BudgetCard, WARN_FROM } from '../components/budget.js'
import { Button, ButtonLink } from '../components/button.js'
import { CausesCard, outcomeTiles } from '../components/outcomes.js'
import { Card, Page } from '../components/page.js'
import { RangeBar, useRange } from '../components/range.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { Tiles, wasBefore } from '../components/tiles.js'
import { compact, count, duration, hitRate, money, moneyExact, plural } from '../format.js'
import { html } from '../html.js'
import { REQUESTS_MEAN } from '../outcomes.js'
import { isDay, rangeWords, slotsOf, USAGE_RANGES, usageQuery } from '../ranges.js'
import { useResource } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'
import { budgetShare, downloadHref } from '../usage.js'
import { COLUMNS, GROUPINGS, groupingOf } from './home-groups.js'

export function HomePage({ project }) {
  const selected = useRange(USAGE_RANGES, 'month')
  const [{ by }, setQuery] = useQuery(['by'])
  const grouping = groupingOf(by)
  const { range, compares } = selected
  const usage = useResource(
    (signal) => load(project.id, { query: usageQuery(range), by: grouping.by, compares, signal }),
    [range, compares, grouping.by],
  )
  const group = (name) => setQuery({ by: name === GROUPINGS[0].by ? '' : name }, { step: true })
  return html`<${Page} title="Overview" of=${project.name} actions=${html`<${Refresh} of=${usage} />`}>
    <${RangeBar} of=${selected} shown=${usage.stale ? undefined : usage.data?.span} comparable />
    <${Loaded} of=${usage} what="usage" rows=${8}>${(data) => html`
      <${BudgetCard} of=${data.budget}>${project.group && html`<a href=${to('groups', project.group)}>View its group</a> `}${
        budgetShare(data.budget) >= WARN_FROM &&
        html`<a href=${to('projects', project.id, 'settings')}>Change budget</a>`
      }<//>
      <${Tiles} tiles=${totalTiles(data, project)} />
      ${data.totals.requests === 0 ? html`<${NoRequests} project=${project} />` : html`<${Details} data=${data} project=${project} onGroup=${group} />`}`}<//>
  <//>`
}

/** The usage of a range by time and by one more grouping. */
async function load(id, { query, by, compares, signal }) {
  const compare = compares ? 'true' : ''
  const usage = (by) => get(path`projects/${id}/usage`, { query: { ...query, by, compare }, signal })
  const [times, groups] = await Promise.all([usage(query.by), usage(by)])
  const { budget, rows, compared, step } = times
  const before = () => ({
    span: spanOf(compared, step),
    totals: withSpeed(compared.totals, groups.compared.totals),
    rows: compared.rows,
  })
  return {
    query,
    span: spanOf(times, step),
    before: compared && before(),
    budget,
    totals: withSpeed(times.totals, groups.totals),
    times: rows,
    by,
    groups: groups.rows,
  }
}

/** Totals with the durations from another report, because a report by the minute has no durations. */
const withSpeed = (totals, { latency, timeToFirstToken }) => ({ ...totals, latency, timeToFirstToken })

const spanOf = ({ from, to: end }, step) => ({
  from,
  to: end,
  step,
  label: rangeWords({ from, to: end }),
  slots: slotsOf({ from, to: end, step }),
})

function totalTiles({ totals, before: compared, span }, project) {
  const before = compared?.totals
  const tokens = (of) => of.promptTokens + of.completionTokens
  const was = (value, format) => wasBefore(totals, before, value, format)
  return [
    [
      'Spend',
      money(totals.cost),
      moneyExact(totals.cost),
      totals.estimated > 0 ? `cost of ${plural(totals.estimated, 'request')} estimated` : 'no estimated costs',
      was((of) => of.cost, money),
    ],
    ...outcomeTiles(totals, project, before, span),
    [
      'Tokens',
      compact(tokens(totals)),
      count(tokens(totals)),
      `${compact(totals.promptTokens)} in, ${compact(totals.completionTokens)} out`,
      was(tokens, compact),
    ],
    [
      'Cache hit rate',
      hitRate(totals),
      '',
      `${count(totals.hits)} of ${plural(totals.hits + totals.misses, 'lookup')}`,
      before && `before: ${hitRate(before)}`,
    ],
    promptCacheTile(totals.promptCache),
    rescueTile(totals),
    speedTile('Latency (p95)', 'latency', totals, before),
    speedTile('First token (p95)', 'timeToFirstToken', totals, before),
  ]
}

/** The tile for a percentile. @param {'latency' | 'timeToFirstToken'} name */
export function speedTile(label, name, totals, before) {
  const found = totals[name]
  return [
    label,
    duration(found?.p95Ms),
    'Upper bound of the histogram bucket.',
    found ? `median ${duration(found.p50Ms)}` : name === 'latency' ? 'no data' : 'no streams',
    wasBefore(totals, before, (of) => of[name]?.p95Ms, duration),
  ]
}

/** What providers' prompt caches saved. The amount is negative if tokens were written but rarely read. */
function promptCacheTile({ readTokens, writeTokens, saved }) {
  return [
    'Prompt cache saved',
    money(saved),
    moneyExact(saved),
    `${compact(readTokens)} tokens read, ${compact(writeTokens)} written`,
  ]
}

function NoRequests({ project }) {
  return html`<${Empty} title="No requests in this range">
    <p>Send a request with one of the project’s API keys, or select another range.</p>
    <div class="buttons">
      <${ButtonLink} href=${to('projects', project.id, 'keys', 'new')} look="primary" changes>Create key<//>
      <${ButtonLink} href=${to('projects', project.id, 'playground')}>Open the playground<//>
    </div>
  <//>`
}

function Details({ data, project, onGroup }) {
  const { span, before, query } = data
  return html`
    <${CausesCard} totals=${data.totals} project=${project} range=${span} />
    <${Charts} span=${span} rows=${data.times} before=${before} />
    <${Groups} data=${data} project=${project} onGroup=${onGroup} />
    <${Downloads} project=${project} query=${query} span=${span} />`
}

/** The table for one grouping and its failed attempts. */
function Groups({ data: { groups, by, query, before }, project, onGroup }) {
  const order = useOrder()
  const { words, head, keyOf } = groupingOf(by)
  const first = head(project, query)
  const byCost = [...groups].sort((a, b) => b.cost - a.cost || b.requests - a.requests)
  const tabs = html`<div class="segments" role="group" aria-label="Group by">${GROUPINGS.map(
    (one) =>
      html`<${Button} key=${one.by} look="segment" aria-pressed=${one.by === by ? 'true' : 'false'} onClick=${() => one.by !== by && onGroup(one.by)}>${one.label}<//>`,
  )}</div>`
  return html`<${Card} title=${`By ${words}`} actions=${tabs}>
      <p class="muted">Requests: ${REQUESTS_MEAN[0].toLowerCase() + REQUESTS_MEAN.slice(1)}</p>
      <${Table} ...${order} caption=${`Usage by ${words}`} columns=${[first, ...COLUMNS]} rows=${byCost} rowKey=${keyOf} />
      <p><a href=${downloadHref(project.id, { ...query, by }, 'csv')} download>This table, CSV</a>
        ${before && html` <a href=${downloadHref(project.id, { ...query, by, compare: 'true' }, 'csv')} download>With the range before, CSV</a>`}</p>
    <//>
    <${AttemptsCard} rows=${groups} head=${{ ...first, sort: undefined }} by=${words} rowKey=${keyOf} />`
}

function Downloads({ project, query, span }) {
  const link = (by, format, label) =>
    html`<li key=${label}><a href=${downloadHref(project.id, { ...query, by }, format)} download>${label}</a></li>`
  const all = isDay(span.from) && [
    link('all', 'csv', 'By day, key and model, CSV'),
    link('all', 'ndjson', 'By day, key and model, NDJSON'),
  ]
  return html`<${Card} title="Downloads">
    <p class="muted">Usage of ${span.label}, with unrounded costs.</p>
    <ul class="links">
      ${link(span.step, 'csv', `By ${span.step}, CSV`)}
      ${link(span.step, 'ndjson', `By ${span.step}, NDJSON`)}
      ${all}
    </ul>
  <//>`
}
