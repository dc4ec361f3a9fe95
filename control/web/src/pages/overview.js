// Home: the state of all projects, from one report.
import { useEffect } from 'preact/hooks'
import { get, queryOf } from '../api.js'
import { Charts, TRAFFIC_CHARTS, TRAFFIC_COLUMNS } from '../charts.js'
import { Age } from '../components/age.js'
import { DocsLink } from '../components/docs.js'
import { outcomeTiles } from '../components/outcomes.js'
import { Card, Page } from '../components/page.js'
import { failuresWords, ProviderTable } from '../components/providers.js'
import { RangeBar, useRange } from '../components/range.js'
import { Empty, Loaded, Refresh } from '../components/states.js'
import { Tiles, wasBefore } from '../components/tiles.js'
import { money, moneyExact, plural } from '../format.js'
import { UNKNOWN_KEYS_DOCS } from '../help.js'
import { html } from '../html.js'
import { stateOf, withPage } from '../overview.js'
import { CUSTOM, OVERVIEW_RANGES, rangeWords, shownRange } from '../ranges.js'
import { useResource } from '../resource.js'
import { to, useQuery } from '../router.js'
import { speedTile } from './home.js'
import { AllProjects, PROJECTS_ID } from './overview-projects.js'
import { TopModels, Tops } from './overview-tops.js'
import { FirstProject } from './projects.js'

const STANDARD = '24h'

export function OverviewPage() {
  const selected = useRange(OVERVIEW_RANGES, STANDARD)
  const query = rangeQuery(selected.range)
  const overview = useResource((signal) => get('overview', { query, signal }), Object.values(query))
  useOtherPages(overview, query)
  return html`<${Page} title="Home" actions=${html`<${Refresh} of=${overview} />`}>
    <${RangeBar} of=${selected} shown=${overview.stale || !overview.data ? undefined : shownRange(overview.data)} />
    <${Loaded} of=${overview} what="the overview" rows=${10}>${(data) =>
      data.projects.length === 0 ? html`<${FirstProject} />` : html`<${Overview} data=${data} query=${query} />`}<//>
  <//>`
}

/** Adds the other pages of projects, one after another. */
function useOtherPages({ data, stale, amend }, query) {
  const next = stale ? null : data?.next
  useEffect(() => {
    if (!next) return
    const controller = new AbortController()
    get('overview', { query: { ...query, after: next }, signal: controller.signal }).then(
      (page) => amend((before) => (before.next === next ? withPage(before, page) : before)),
      () => controller.signal.aborted || amend((before) => ({ ...before, next: null, incomplete: true })),
    )
    return () => controller.abort()
  }, [next])
}

const rangeQuery = ({ name, from, to: end }) => (name === CUSTOM ? { from, to: end } : { range: name })

function Overview({ data, query }) {
  const { totals, before, series, step } = data
  const rows = series.map((row) => ({ ...row, [step]: row.time, outcomes: row }))
  const span = { step, label: rangeWords(shownRange(data)), slots: series.map(({ time }) => Date.parse(time)) }
  return html`
    <${State} data=${data} />
    <p class="muted">${data.asOf ? html`As of <${Age} at=${data.asOf} />.` : 'No project has reported figures yet.'} Below each figure is its value in the range before. <a href=${`/api/admin/overview${queryOf({ ...query, compare: 'true', format: 'csv' })}`} download>Both ranges, CSV</a></p>
    <${Tiles} tiles=${tiles(totals, before)} />
    ${totals.requests === 0 ? html`<${Empty} title="No requests in this range"><p>Select another range.</p><//>` : html`<${Charts} span=${span} rows=${rows} charts=${TRAFFIC_CHARTS} columns=${TRAFFIC_COLUMNS} />`}
    <${Tops} data=${data} />
    <${TopModels} of=${data.models} />
    <${Providers} of=${data.providers} totals=${totals} />
    <${AllProjects} data=${data} query=${query} />`
}

/**
 * The strip of states. Each state is a link to a page, to an order of the projects, or to the documentation.
 */
function State({ data }) {
  const [range] = useQuery(['range', 'from', 'to'])
  const query = (sort) => queryOf({ ...range, sort })
  const show = () => setTimeout(() => document.getElementById(PROJECTS_ID).focus())
  return html`<ul class="strip" aria-label="State">${stateOf(data).map(
    ({ name, value, note, look, page, query: filters = {}, sort }) => {
      const content = html`<span class="strip-name">${name}</span><strong>${value}</strong><span class="strip-note">${note}</span>`
      const link = page
        ? html`<a href=${to(page) + queryOf(filters)}>${content}</a>`
        : sort
          ? html`<a href=${to() + query(sort)} onClick=${show}>${content}</a>`
          : html`<${DocsLink} href=${UNKNOWN_KEYS_DOCS}>${content}<//>`
      return html`<li key=${name} class=${look}>${link}</li>`
    },
  )}</ul>`
}

function tiles(totals, before) {
  return [
    ['Spend', money(totals.cost), moneyExact(totals.cost), '', wasBefore(totals, before, (of) => of.cost, money)],
    ...outcomeTiles(totals, null, before),
    speedTile('Latency (p95)', 'latency', totals, before),
    speedTile('First token (p95)', 'timeToFirstToken', totals, before),
  ]
}

function Providers({ of, totals }) {
  const providers = of.filter(({ state, attempts }) => state !== 'idle' || attempts.total > 0)
  const failing = providers.filter(({ state }) => state === 'failing')
  return html`<${Card} title="Providers" actions=${html`<a href=${to('providers')}>Provider status</a>`}>
    ${failing.map((row) => html`<p key=${row.provider}><strong>${row.provider}</strong> is failing: in this range, ${failuresWords(row)}.</p>`)}
    ${totals.attempts.rescued > 0 && html`<p>${plural(totals.attempts.rescued, 'request')} saved by a fallback in this range.</p>`}
    ${
      providers.length === 0
        ? html`<p class="muted">No provider was called in this range.</p>`
        : html`<${ProviderTable} rows=${providers} />`
    }
  <//>`
}
