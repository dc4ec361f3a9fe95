// Home: the projects, keys and models with the highest cost.
import { FAILURE_COLUMNS } from '../components/attempts.js'
import { ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Card } from '../components/page.js'
import { Table } from '../components/table.js'
import { FIRST_TOKEN_P95, LATENCY_P95 } from '../components/usage-columns.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { topProjects } from '../overview.js'
import { to } from '../router.js'
import { useOrder } from '../sort.js'
import { projectHref } from './overview-links.js'

const NUMBER = 5

const FIGURES = [
  { label: 'Cost', num: true, cell: (row) => html`<${Money} of=${row.cost} />` },
  { label: 'Requests', num: true, cell: (row) => count(row.requests) },
]
const MODEL_FIGURES = [
  { ...FIGURES[0], sort: (row) => row.cost },
  { ...FIGURES[1], sort: (row) => row.requests },
  { ...LATENCY_P95, label: 'Latency p95' },
  FIRST_TOKEN_P95,
  ...FAILURE_COLUMNS.slice(0, 3),
]
const PROJECT = {
  label: 'Project',
  head: true,
  cell: ({ name, projectId }) =>
    name === null
      ? html`<span class="muted">removed project</span>`
      : html`<${Name} text=${name} href=${projectHref(projectId)} />`,
}
const MODEL = {
  label: 'Model',
  head: true,
  sort: (row) => row.model,
  cell: (row) =>
    html`<${ModelName} of=${row.model} none="none" />${row.provider && html`<span class="under">${row.provider}</span>`}`,
}
const KEY = {
  label: 'API key',
  head: true,
  cell: ({ keyId, keyName, projectId, projectName }) => {
    const name = keyName
      ? html`<${Name} text=${keyName} href=${to('projects', projectId, 'keys', keyId)} />`
      : html`<span class="muted">${keyId ? 'deleted key' : 'others'}</span>`
    return html`${name}<span class="under"><${Name} text=${projectName ?? 'removed project'} /></span>`
  },
}

/** @param {{data: object}} props  data: from GET …/overview */
export function Tops({ data: { projects, keys } }) {
  const cards = [
    ['Top projects', PROJECT, topProjects(projects, NUMBER), (row) => row.projectId],
    ['Top API keys', KEY, keys.slice(0, NUMBER), (row) => `${row.projectId} ${row.keyId}`],
  ].filter(([, , rows]) => rows.length > 0)
  if (cards.length === 0) return null
  return html`<div class="tops">${cards.map(
    ([title, head, rows, rowKey]) => html`<${Card} title=${title} key=${title}>
      <${Table} caption=${`${title} by cost`} columns=${[head, ...FIGURES]} rows=${rows} rowKey=${rowKey} />
    <//>`,
  )}</div>`
}

/** @param {{of: object[]}} props  of: the overview's models */
export function TopModels({ of }) {
  const sorting = useOrder('sort-models')
  const rows = of.filter(({ requests, attempts }) => requests + attempts.total > 0)
  if (rows.length === 0) return null
  return html`<${Card} title="Top models">
    <${Table} ...${sorting} caption="Top models by cost" columns=${[MODEL, ...MODEL_FIGURES]} rows=${rows} rowKey=${(row) => `${row.provider} ${row.model}`} />
  <//>`
}
