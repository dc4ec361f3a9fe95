// A project's costs: what caches saved, where the budget is heading, and what the same traffic would cost on other
// models.
import { get, path } from '../api.js'
import { Name } from '../components/name.js'
import { Card, Page } from '../components/page.js'
import { RangeBar, useRange } from '../components/range.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Table } from '../components/table.js'
import { Tiles } from '../components/tiles.js'
import { count, money, moneyExact, percent, plural } from '../format.js'
import { html } from '../html.js'
import { DAY_RANGES, dayQuery } from '../ranges.js'
import { useBoth, useResource } from '../resource.js'
import { useQuery } from '../router.js'
import { useOrder } from '../sort.js'
import { downloadHref, share } from '../usage.js'
import { Comparison } from './costs-compare.js'

const served = ({ requests, hits }) => requests - hits
const exactly = (dollars) => html`<span title=${moneyExact(dollars)}>${money(dollars)}</span>`

export function CostsPage({ project }) {
  const selected = useRange(DAY_RANGES, 'month')
  const [{ of }, setQuery] = useQuery(['of'])
  const range = dayQuery(selected.range)
  const load = (at, query) => (signal) => get(`${path`projects/${project.id}/costs`}${at}`, { query, signal })
  const costs = useResource(load('', range), [selected.range])
  const comparison = useResource(load('/compare', { ...range, of }), [selected.range, of])
  return html`<${Page} title="Costs" of=${project.name} actions=${html`<${Refresh} of=${useBoth(costs, comparison)} />`}>
    <${RangeBar} of=${selected} shown=${range} />
    <${Loaded} of=${costs} what="costs" rows=${8}>${(data) => html`<${Costs} data=${data} project=${project} range=${range} />`}<//>
    <${Comparison} of=${comparison} model=${of} onModel=${(value) => setQuery({ of: value })}
      models=${(costs.data?.models ?? []).filter((row) => served(row) > 0).map((row) => row.model)} />
  <//>`
}

function Costs({ data, project, range }) {
  const sorting = useOrder()
  const { totals, models, development } = data
  return html`
    <${Tiles} tiles=${costTiles(data)} />
    <${Forecast} of=${data} />
    <${Card} title="What caches saved">
      <p class="muted">Cache: an estimate, the hits of a model × the mean cost of its served requests. The mean includes failed attempts, and reservations
        that were charged because no settlement came. Prompt caches of providers: exact, at the prices of each request’s time.</p>
      ${totals.saved.unknownHits > 0 && html`<p>${plural(totals.saved.unknownHits, 'hit')} of models that no provider served in these days or the 90 days before: counted as nothing saved.</p>`}
      ${development > 0 && html`<p>${plural(development, 'request')} of development keys left out: they are free of charge.</p>`}
      ${
        models.length === 0
          ? html`<${Empty} title="No requests served in this range"><p>Select another range.</p><//>`
          : html`<${Table} ...${sorting} caption="Costs by model" columns=${COLUMNS} rows=${[...models].sort((a, b) => b.cost - a.cost)} rowKey=${(row) => row.model} />
            <p><a href=${downloadHref(project.id, { ...range, by: 'model' }, 'csv')} download>Usage by model, CSV</a></p>`
      }
    <//>`
}

function costTiles({ totals, forecast, budget }) {
  const { saved, flagged } = totals
  return [
    [
      'Saved by caches',
      money(saved.total),
      moneyExact(saved.total),
      `${money(saved.cache)} by the cache (estimate), ${money(saved.promptCache)} by prompt caches`,
    ],
    ['Spend', money(totals.cost), moneyExact(totals.cost), plural(served(totals), 'billed request')],
    [
      budget.period === 'total' ? 'Forecast' : `Forecast for the ${budget.period}`,
      forecast.spend === null ? '–' : money(forecast.spend),
      forecast.spend === null ? '' : moneyExact(forecast.spend),
      budgetOutlook(forecast, budget),
    ],
    [
      'Estimated or expired',
      percent(flagged.estimated + flagged.expired, served(totals)),
      `${plural(flagged.estimated, 'estimated charge')}, ${plural(flagged.expired, 'request')} charged with the reservation`,
      `at most ${money(flagged.costAtMost)} of the cost (${percent(flagged.costAtMost, totals.cost)})`,
    ],
  ]
}

function budgetOutlook({ spend, runsOut }, { limit, remaining }) {
  if (remaining <= 0) return `the budget of ${money(limit)} is used up`
  if (runsOut) return `the budget of ${money(limit)} runs out on ${runsOut}`
  return spend === null ? 'no full day yet' : `the budget of ${money(limit)} is not reached`
}

function Forecast({ of: { forecast, budget } }) {
  const last = new Date(Date.parse(budget.end) - 1).toISOString().slice(0, 10)
  const outlook = budgetOutlook(forecast, budget)
  return html`<${Card} title="Forecast">
    ${
      forecast.spend === null
        ? html`<p>${exactly(budget.used)} spent since ${budget.start.slice(0, 10)}. A forecast needs a full day since the project was created.</p>`
        : html`<p><strong>${exactly(forecast.spend)}</strong> by ${last} (UTC): ${outlook}.</p>
          <p class="muted">${exactly(budget.used)} spent since ${budget.start.slice(0, 10)}, plus ${exactly(forecast.dailyMean)} a day for the time left, the mean of the
            last ${plural(forecast.days, 'full day')}. The forecast does not end at the budget, but requests do. It does not depend on the selected range.</p>`
    }
  <//>`
}

const counted = (label, value) => ({ label, sort: value, num: true, cell: (row) => count(value(row)) })
const priced = (label, value) => ({ label, sort: value, num: true, cell: (row) => exactly(value(row)) })

const COLUMNS = [
  {
    label: 'Model',
    sort: (row) => row.model,
    head: true,
    cell: (row) => (row.model ? html`<${Name} text=${row.model} />` : html`<span class="muted">none</span>`),
  },
  { ...counted('Billed by providers', served), title: 'Without cache hits; with streams that broke or were left' },
  counted('Cache hits', (row) => row.hits),
  {
    label: 'Mean cost',
    sort: (row) => row.meanCost,
    num: true,
    cell: (row) =>
      row.meanCost === null
        ? '–'
        : html`<span title=${`Of the requests since ${row.meanFrom}: ${moneyExact(row.meanCost)}`}>${money(row.meanCost)}</span>`,
  },
  {
    label: 'Cache saved (estimate)',
    sort: (row) => row.saved.cache,
    num: true,
    cell: ({ saved }) => (saved.unknownHits > 0 ? html`<span class="muted">unknown</span>` : exactly(saved.cache)),
  },
  priced('Prompt cache saved', (row) => row.saved.promptCache),
  priced('Saved', (row) => row.saved.total),
  counted('Estimated', (row) => row.flagged.estimated),
  counted('Expired', (row) => row.flagged.expired),
  {
    label: 'Cost of these at most',
    sort: (row) => share(row.flagged.costAtMost, row.cost),
    num: true,
    cell: ({ flagged, cost }) =>
      html`<span title=${moneyExact(flagged.costAtMost)}>${percent(flagged.costAtMost, cost)}</span>`,
  },
  priced('Cost', (row) => row.cost),
]
