// The recorded tokens of a project, priced at the list prices of other models.
import { SelectField, TextField } from '../components/form.js'
import { Name } from '../components/name.js'
import { Card } from '../components/page.js'
import { Empty, Loaded } from '../components/states.js'
import { Table } from '../components/table.js'
import { compact, count, money, moneyExact, percent, plural } from '../format.js'
import { html } from '../html.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'
import { share } from '../usage.js'

const CHEAPEST = 10
const SHOWN = [
  ['', `The ${CHEAPEST} cheapest`],
  ['provider', 'Cheaper, same providers'],
  ['cheaper', 'All cheaper models'],
  ['all', 'All models'],
]

/**
 * The candidates to show. A search covers all candidates. Without a search, they are the candidates in use and the
 * candidates that "show" selects.
 */
function select(all, { q, show }) {
  const text = q.trim().toLowerCase()
  if (text) return all.filter(({ model, provider }) => `${provider}/${model}`.includes(text))
  const own = new Set(all.filter(({ used }) => used).map(({ provider }) => provider))
  const wanted = {
    '': (_, i) => i < CHEAPEST,
    provider: ({ provider, difference }) => own.has(provider) && difference < 0,
    cheaper: ({ difference }) => difference < 0,
  }[show]
  return wanted ? all.filter((one, i) => one.used || wanted(one, i)) : all
}

/** @param {{of: object, model: string, onModel: (model: string) => void, models: string[]}} props  model: the one whose traffic is compared, or '' for all */
export function Comparison({ of, model, onModel, models }) {
  const [choice, setQuery] = useQuery(['q', 'show'])
  const names = model && !models.includes(model) ? [...models, model] : models
  const options = [['', 'All models'], ...names.filter(Boolean).map((name) => [name, name])]
  return html`<${Card} title="The same traffic on another model">
    <form class="filters" role="search" aria-label="Models to compare" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label="Traffic of" options=${options} value=${model} onValue=${onModel} />
      <${SelectField} label="Show" options=${SHOWN} value=${choice.show} onValue=${(value) => setQuery({ show: value })} />
      <${TextField} label="Search all models" type="search" value=${choice.q} onValue=${(value) => setQuery({ q: value })} />
    </form>
    <${Loaded} of=${of} what="the comparison" rows=${6}>${(data) => html`
      ${data.kinds.length === 0 && html`<${Empty} title="No traffic to compare"><p>No model of the catalog served a request in this range.</p><//>`}
      ${data.kinds.map((kind) => html`<${Kind} key=${kind.kind} of=${kind} all=${data.candidates.filter((one) => one.kind === kind.kind)} choice=${choice} />`)}
      <${Caveats} texts=${data.caveats} />
      ${data.traffic.length > 0 && html`<${Traffic} rows=${data.traffic} />`}`}<//>
  <//>`
}

/** The caveats about the amounts. They are shown with the amounts instead of behind a link. */
function Caveats({ texts }) {
  return html`<p>Recorded tokens × the list prices under <a href=${to('models')}>Models and prices</a>. What that does not tell:</p>
    <ul class="muted">${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`
}

function Kind({ of: { kind, cost, listCost }, all, choice }) {
  const sorting = useOrder(`sort-${kind}`)
  if (all.length === 0)
    return html`<p>${kind}: ${money(cost)} recorded. No model of this kind has a price in the catalog.</p>`
  const rows = select(all, choice)
  return html`<p><strong>${kind}</strong>: ${moneyOrNone(cost)} recorded; the same tokens at list prices ${moneyOrNone(listCost)}. ${cheapest(all, listCost)}</p>
    <p class="muted" role="status">${count(rows.length)} of ${plural(all.length, 'model')} shown</p>
    ${
      rows.length === 0
        ? html`<${Empty} title="No models match"><p>Change the search, or show all models.</p><//>`
        : html`<${Table} ...${sorting} caption=${`Cost on other models, ${kind}`} columns=${columns(listCost)} rows=${rows} rowKey=${(row) => row.model} />`
    }`
}

/** A sentence about the first candidate, which is the cheapest. */
function cheapest([first, ...rest], listCost) {
  if (!(first.difference < 0)) return 'No model is cheaper.'
  const cheaper = 1 + rest.filter(({ difference }) => difference < 0).length
  return html`The cheapest is <strong>${first.model}</strong>: ${moneyOrNone(first.cost)}, ${percent(-first.difference, listCost)} less. ${plural(cheaper, 'model')} ${cheaper === 1 ? 'is' : 'are'} cheaper.`
}

/** An amount as text. Null means that the amount is too large. */
function moneyOrNone(dollars) {
  return dollars === null
    ? html`<span title="more than $9.2 million">–</span>`
    : html`<span title=${moneyExact(dollars)}>${money(dollars)}</span>`
}

function change({ difference }, listCost) {
  if (difference === null || !(listCost > 0)) return '–'
  return `${difference < 0 ? '−' : '+'}${percent(Math.abs(difference), listCost)}`
}

const columns = (listCost) => [
  {
    label: 'Model',
    sort: (row) => row.model,
    head: true,
    cell: (row) =>
      html`<${Name} text=${row.model} />${row.used && html`<span class="under">used in this range</span>`}`,
  },
  { label: 'Provider', sort: (row) => row.provider, cell: (row) => row.provider },
  {
    label: 'Context',
    sort: (row) => row.context,
    num: true,
    cell: (row) => (row.context ? compact(row.context) : '–'),
  },
  { label: 'Cost', sort: (row) => row.cost, num: true, cell: (row) => moneyOrNone(row.cost) },
  { label: 'Difference', sort: (row) => row.difference, num: true, cell: (row) => moneyOrNone(row.difference) },
  { label: 'Change', sort: (row) => share(row.difference, listCost), num: true, cell: (row) => change(row, listCost) },
]

const counted = (label, value) => ({ label, sort: value, num: true, cell: (row) => count(value(row)) })

const TRAFFIC_COLUMNS = [
  {
    label: 'Model',
    sort: (row) => row.model,
    head: true,
    cell: (row) => html`<${Name} text=${row.model || 'none'} />`,
  },
  { label: 'Kind', sort: (row) => row.kind, cell: (row) => row.kind ?? 'not in the catalog' },
  counted('Served', (row) => row.served),
  counted('Input tokens', (row) => row.promptTokens),
  counted('Output tokens', (row) => row.completionTokens),
  counted('Prompt cache read', (row) => row.promptCacheReadTokens),
  counted('Prompt cache written', (row) => row.promptCacheWriteTokens),
  { label: 'Recorded cost', sort: (row) => row.cost, num: true, cell: (row) => moneyOrNone(row.cost) },
  { label: 'At list prices', sort: (row) => row.listCost, num: true, cell: (row) => moneyOrNone(row.listCost) },
]

function Traffic({ rows }) {
  const sorting = useOrder('sort-traffic')
  return html`<details class="figures"><summary>Recorded tokens by model</summary>
    <${Table} ...${sorting} caption="Recorded tokens by model" columns=${TRAFFIC_COLUMNS} rows=${rows} rowKey=${(row) => row.model} />
  </details>`
}
