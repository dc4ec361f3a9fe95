// Home: the projects, keys and models with the highest cost.
import { ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Card } from '../components/page.js'
import { Table } from '../components/table.js'
import { count } from '../format.js'
import { html } from '../html.js'
import { topProjects } from '../overview.js'
import { to } from '../router.js'
import { projectHref } from './overview-links.js'

const NUMBER = 5

const FIGURES = [
  { label: 'Cost', num: true, cell: (row) => html`<${Money} of=${row.cost} />` },
  { label: 'Requests', num: true, cell: (row) => count(row.requests) },
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

/** @param {{data: object}} props  data: of GET …/overview */
export function Tops({ data: { projects, keys, models } }) {
  const cards = [
    ['Top projects', PROJECT, topProjects(projects, NUMBER), (row) => row.projectId],
    ['Top API keys', KEY, keys.slice(0, NUMBER), (row) => `${row.projectId} ${row.keyId}`],
    ['Top models', MODEL, models.slice(0, NUMBER), (row) => `${row.provider} ${row.model}`],
  ].filter(([, , rows]) => rows.length > 0)
  if (cards.length === 0) return null
  return html`<div class="tops">${cards.map(
    ([title, head, rows, rowKey]) => html`<${Card} title=${title} key=${title}>
      <${Table} caption=${`${title} by cost`} columns=${[head, ...FIGURES]} rows=${rows} rowKey=${rowKey} />
    <//>`,
  )}</div>`
}
