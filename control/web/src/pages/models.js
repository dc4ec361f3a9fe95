// The catalog: models with prices, and plans with limits.
import { SelectField, TextField } from '../components/form.js'
import { Money } from '../components/money.js'
import { Card, Page } from '../components/page.js'
import { Empty, Loaded } from '../components/states.js'
import { Table } from '../components/table.js'
import { compact, count, plural } from '../format.js'
import { html } from '../html.js'
import { price } from '../prices.js'
import { useCatalog } from '../resource.js'
import { useQuery } from '../router.js'
import { useOrder } from '../sort.js'

const KINDS = [
  ['', 'Any'],
  ['chat', 'Chat'],
  ['embedding', 'Embedding'],
  ['completion', 'Completion'],
  ['moderation', 'Moderation'],
]

/** The price of output tokens, or null for the kinds of models that have no output. */
function outputPrice({ kind, outputPrice }) {
  return ['embedding', 'moderation'].includes(kind) ? null : outputPrice
}

const COLUMNS = [
  {
    label: 'Model',
    sort: (model) => model.name,
    head: true,
    cell: (model) =>
      html`${model.name}${model.aliases.length > 0 && html`<span class="under">${model.aliases.join(', ')}</span>`}`,
  },
  {
    label: 'Provider',
    sort: (model) => model.provider,
    cell: (model) => html`${model.provider}<span class="under">${model.wires.join(', ')}</span>`,
  },
  {
    label: 'Context',
    sort: (model) => model.context,
    num: true,
    cell: (model) => (model.context ? compact(model.context) : '–'),
  },
  {
    label: 'Max output',
    sort: (model) => model.maxOutput,
    num: true,
    cell: (model) => (model.maxOutput ? compact(model.maxOutput) : '–'),
  },
  { label: 'Input', sort: (model) => model.inputPrice, num: true, cell: (model) => price(model.inputPrice) },
  {
    label: 'Output',
    sort: outputPrice,
    num: true,
    cell: (model) => price(outputPrice(model)),
  },
  { label: 'Cached input', sort: (model) => model.cachedPrice, num: true, cell: (model) => price(model.cachedPrice) },
  {
    label: 'Source',
    cell: (model) =>
      html`<span class="source">${model.source ?? 'set by the operator'}${model.checked && html`, <span class="nowrap">${model.checked}</span>`}</span>`,
  },
]

export function ModelsPage() {
  const catalog = useCatalog()
  return html`<${Page} title="Models and prices">
    <${Loaded} of=${catalog} what="the catalog" rows=${10}>${(data) => html`
      <p class="lead">US dollars per million tokens. Price list version <strong>${data.version}</strong>, recorded with every cost.</p>
      <${Models} models=${data.models} tiers=${data.tiers} />
      <${Plans} plans=${data.plans} />`}<//>
  <//>`
}

function Models({ models, tiers }) {
  const [{ q, provider, kind }, setQuery] = useQuery(['q', 'provider', 'kind'])
  const sorting = useOrder()
  const providers = [...new Set(models.map((model) => model.provider))].sort()
  const text = q.trim().toLowerCase()
  const targets = targetsOf(tiers, text)
  const found = models.filter(
    (model) => isOf(model, provider, kind) && (targets.includes(model.name) || isNamed(model, text)),
  )
  return html`<form class="filters" role="search" aria-label="Models" onSubmit=${(event) => event.preventDefault()}>
      <${TextField} label="Search by name" type="search" value=${q} onValue=${(value) => setQuery({ q: value })} />
      <${SelectField} label="Provider" value=${provider} onValue=${(value) => setQuery({ provider: value })}
        options=${[['', 'Any'], ...providers.map((name) => [name, name])]} />
      <${SelectField} label="Kind" value=${kind} onValue=${(value) => setQuery({ kind: value })} options=${KINDS} />
    </form>
    <p class="muted" role="status">${plural(found.length, 'model')}</p>
    ${
      found.length === 0
        ? html`<${Empty} title="No models match"><p>Change the search or the filters. You can add your own models with POSTERN_CATALOG.</p><//>`
        : html`<${Table} ...${sorting} caption="Models" columns=${COLUMNS} rows=${found} rowKey=${(model) => `${model.provider}/${model.name}`} />`
    }`
}

function isOf(model, provider, kind) {
  return (!provider || model.provider === provider) && (!kind || model.kind === kind)
}

function isNamed({ name, aliases, provider }, text) {
  return [name, ...aliases, provider].some((one) => one.toLowerCase().includes(text))
}

/** The models of the tier with this name. A request can name a tier instead of a model. */
function targetsOf(tiers, text) {
  const tier = tiers.find(({ name }) => name.toLowerCase() === text)
  return tier?.targets.map(({ model }) => model) ?? []
}

const limit = (number) => (number ? count(number) : 'none')

function Plans({ plans }) {
  const column = (label, environment, name) => ({ label, num: true, cell: (plan) => limit(plan[environment]?.[name]) })
  const columns = [
    { label: 'Plan', head: true, cell: (plan) => plan.name },
    { label: 'Budget', num: true, cell: (plan) => html`<${Money} of=${plan.budget} />` },
    { label: 'Governor', cell: (plan) => (plan.governor ? 'yes' : 'no') },
    { label: 'Concurrent requests', num: true, cell: (plan) => limit(plan.concurrent) },
    {
      label: 'Lease',
      cell: ({ lease }) => (lease ? `${count(lease.requests)} requests for ${lease.ms / 1000} s` : 'none'),
    },
    column('Requests per second', 'production', 'requestsPerSecond'),
    column('Requests per day', 'production', 'requestsPerDay'),
    column('Tokens per minute', 'production', 'tokensPerMinute'),
    column('Requests per second (development)', 'development', 'requestsPerSecond'),
    column('Requests per day (development)', 'development', 'requestsPerDay'),
  ]
  return html`<${Card} title="Plans"><p class="muted">Limits apply per API key. A key’s own limits override its plan’s.</p>
    <p class="muted">On a plan with a lease, limits are counted in shares that are lent to edge locations for at most the time shown. A change of a key or
      its project is acknowledged only after the last share has ended.</p>
    <${Table} caption="Plans" columns=${columns} rows=${plans} rowKey=${(plan) => plan.name} /><//>`
}
