// The most recent requests, without their content.
import { path } from '../api.js'
import { Badge, Status } from '../components/badge.js'
import { ButtonLink } from '../components/button.js'
import { CopyButton } from '../components/copy.js'
import { SelectField, TextField, wrongWith } from '../components/form.js'
import { Id, ModelName } from '../components/ids.js'
import { ModelList } from '../components/models.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Outcome } from '../components/outcomes.js'
import { Page } from '../components/page.js'
import { PromptCacheSaved, PromptCacheTokens } from '../components/prompt-cache.js'
import { Empty, Loaded, Refresh, Time } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { count, duration } from '../format.js'
import { html } from '../html.js'
import { hrefOf } from '../ids.js'
import { inputValueOf, instantOf } from '../instants.js'
import { useList } from '../lists.js'
import { CAUSES, causeWords, OUTCOMES, outcomeWords, RECORDED, STATUSES } from '../outcomes.js'
import { useCatalog, useDebounced } from '../resource.js'
import { to, useQuery } from '../router.js'
import { sorted, useOrder } from '../sort.js'
import { LIST, RequestDrawer, useOpened } from './request-drawer.js'
import { useKeyNames } from './violations.js'

const NAMES = ['request', 'key', 'model', 'provider', 'status', 'outcome', 'cause', 'cache', 'from', 'to']
const CACHE = ['hit', 'miss', 'bypass']
const LEAD = `Metadata only: prompts and responses are not stored. ${RECORDED}`
const anyOf = (values) => [['', 'Any'], ...values.map((value) => [value, value])]
const anyNamed = (pairs) => [['', 'Any'], ...pairs.map(([name, words]) => [name, words])]

export function RequestsPage({ project }) {
  const [filters, setFilters] = useQuery(NAMES)
  const model = useDebounced(filters.model)
  const provider = useDebounced(filters.provider)
  const request = useDebounced(filters.request.trim())
  const since = useDebounced(instantOf(filters.from))
  const before = useDebounced(instantOf(filters.to, 1))
  const query = { ...filters, model, provider, request, from: since, to: before }
  const sorting = useOrder()
  const opened = useOpened()
  const list = useList(path`projects/${project.id}/requests`, 'requests', query, {
    timeOf: (request) => request.time,
    all: sorting.order !== '',
  })
  const names = useKeyNames(project)
  const shape = columns(project, names)
  const filtered = Object.values(filters).some(Boolean)
  return html`<${Page} title="Requests" of=${project.name} lead=${LEAD} actions=${html`<${Refresh} of=${list} within=${LIST} />`}>
    <${Filters} filters=${filters} set=${setFilters} names=${names} error=${list.error} />
    <div onClick=${opened.choose}><${Loaded} of=${list} what="requests" rows=${8}>${({ items }) =>
      html`<${Listed} list=${list} noun="request" none=${html`<${NoRequests} filtered=${filtered} project=${project} />`}>
        <${Table} ...${sorting} caption="Recent requests, newest first" columns=${shape} rows=${items} rowKey=${(request) => request.requestId} current=${opened.id} />
      <//>`}<//></div>
    ${opened.id && html`<${RequestDrawer} opened=${opened} project=${project} list=${list} rows=${sorted(list.data?.items ?? [], shape, sorting.order)} names=${names} />`}
  <//>`
}

function Filters({ filters, set, names, error }) {
  const keyOptions = [['', 'Any'], ...names]
  if (filters.key && !names.has(filters.key)) keyOptions.push([filters.key, filters.key])
  const time = (
    name,
    label,
    days,
  ) => html`<${TextField} label=${label} type="datetime-local" value=${inputValueOf(filters[name], days)}
    wrong=${wrongWith(error, name)} onValue=${(value) => set({ [name]: value })} />`
  return html`<form class="filters" role="search" aria-label="Requests" onSubmit=${(event) => event.preventDefault()}>
    <${SelectField} label="API key" options=${keyOptions} value=${filters.key} onValue=${(key) => set({ key })} />
    <${TextField} label="Model" list="request-models" value=${filters.model} onValue=${(model) => set({ model })} placeholder="Exact name" /><${ModelList} id="request-models" />
    <${TextField} label="Provider" list="request-providers" value=${filters.provider} onValue=${(provider) => set({ provider })} placeholder="Exact name" /><${ProviderList} id="request-providers" />
    <${SelectField} label="Outcome" options=${anyNamed(OUTCOMES)} value=${filters.outcome} onValue=${(outcome) => set({ outcome })} />
    <${SelectField} label="Cause" options=${anyNamed(CAUSES)} value=${filters.cause} onValue=${(cause) => set({ cause })} />
    <${SelectField} label="Status" options=${anyOf(STATUSES)} value=${filters.status} onValue=${(status) => set({ status })} />
    <${TextField} label="Request ID" value=${filters.request} onValue=${(request) => set({ request })} placeholder="Whole ID" />
    <${SelectField} label="Cache" options=${anyOf(CACHE)} value=${filters.cache} onValue=${(cache) => set({ cache })} />
    ${time('from', 'From (UTC)', 0)}
    ${time('to', 'Before (UTC)', 1)}
  </form>`
}

/** A datalist with the providers in the catalog. */
function ProviderList({ id }) {
  const names = new Set(useCatalog().data?.models.map(({ provider }) => provider))
  return html`<datalist id=${id}>${[...names].sort().map((name) => html`<option value=${name} key=${name} />`)}</datalist>`
}

function NoRequests({ filtered, project }) {
  if (filtered) return html`<${Empty} title="No requests match"><p>Change the filters.</p><//>`
  return html`<${Empty} title="No requests yet">
    <p>Requests appear here a few seconds after they finish.</p>
    <${ButtonLink} href=${to('projects', project.id, 'playground')}>Open the playground<//>
  <//>`
}

function RequestId({ id, project }) {
  return html`<span class="row-actions copyable"><${Id} id=${id} project=${project.id} look="id short" /><${CopyButton} text=${id} name="request ID" /></span>`
}

// The first word of a user agent, such as claude-cli/2.1.330.
function clientOf(agent) {
  return agent?.split(' ')[0]
}

function columns(project, names) {
  const keyName = (id) => html`<${Name} text=${names.get(id) ?? id} href=${to('projects', project.id, 'keys', id)} />`
  return [
    {
      label: 'Time',
      time: true,
      sort: (r) => r.time,
      head: true,
      cell: (r) => html`<a href=${hrefOf(r.requestId, project.id)}><${Time} at=${r.time} /></a>`,
    },
    {
      label: 'Outcome',
      sort: (r) => `${outcomeWords(r.outcome)} ${causeWords(r.cause)}`,
      cell: (r) =>
        html`<${Outcome} of=${r.outcome} />${r.cause && html`<a class="under" href=${hrefOf(r.requestId, project.id)}>${causeWords(r.cause)}</a>`}`,
    },
    { label: 'Status', sort: (r) => r.status, cell: (r) => html`<${Status} code=${r.status} />` },
    {
      label: 'Model',
      sort: (r) => r.model,
      cell: (r) => html`<${ModelName} of=${r.model} /><span class="under">${r.provider}</span>`,
    },
    {
      label: 'API key',
      sort: (r) => names.get(r.keyId) ?? r.keyId,
      cell: (r) => html`${keyName(r.keyId)}<span class="under" title=${r.userAgent}>${clientOf(r.userAgent)}</span>`,
    },
    { label: 'Cache', sort: (r) => r.cache, cell: (r) => html`<${Badge} of=${r.cache} />` },
    {
      label: 'Latency',
      num: true,
      sort: (r) => r.latencyMs,
      cell: (r) => html`${duration(r.latencyMs)}${r.stream && html`<span class="under">stream</span>`}`,
    },
    {
      label: 'Tokens',
      num: true,
      sort: (r) => r.promptTokens + r.completionTokens,
      cell: (r) =>
        html`${count(r.promptTokens)} in<span class="under">${count(r.completionTokens)} out</span><${PromptCacheTokens} of=${r.promptCache} />`,
    },
    {
      label: 'Cost',
      num: true,
      sort: (r) => Number(r.cost),
      cell: (r) =>
        html`<${Money} of=${r.cost} />${r.estimated && html`<span class="under">estimated</span>`}<${PromptCacheSaved} of=${r.promptCache} />`,
    },
    { label: 'Request ID', cell: (r) => html`<${RequestId} id=${r.requestId} project=${project} />` },
  ]
}
