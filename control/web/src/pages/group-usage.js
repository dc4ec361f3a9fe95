// The usage of a group by group, project, key or model.
import { get, path, queryOf } from '../api.js'
import { Age } from '../components/age.js'
import { Button } from '../components/button.js'
import { FormError } from '../components/form.js'
import { GroupLink } from '../components/groups.js'
import { ModelName } from '../components/ids.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Card } from '../components/page.js'
import { RangeBar, useRange } from '../components/range.js'
import { Loaded } from '../components/states.js'
import { Listed, Table } from '../components/table.js'
import { Tiles } from '../components/tiles.js'
import { compact, count, money, moneyExact } from '../format.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { DAY_RANGES, dayQuery } from '../ranges.js'
import { useAction, useResource } from '../resource.js'
import { to, useQuery } from '../router.js'
import { useOrder } from '../sort.js'

const unnamed = (text) => html`<span class="muted">${text}</span>`

/** The name of a deleted group, project or key is null. */
const named = (id, name, link) =>
  name === null || name === undefined ? html`<code>${id}</code> ${unnamed('(deleted)')}` : link

const groupCell = ({ groupId, groupName }) =>
  groupId
    ? named(groupId, groupName, html`<${GroupLink} id=${groupId} name=${groupName} />`)
    : unnamed('projects directly in this group')

const projectCell = ({ projectId, projectName }) =>
  named(projectId, projectName, html`<${Name} text=${projectName} href=${to('projects', projectId)} />`)

const keyCell = ({ projectId, keyId, keyName }) =>
  named(keyId, keyName, html`<${Name} text=${keyName} href=${to('projects', projectId, 'keys', keyId)} />`)

/** The groupings: the value in the URL and the API, the button's label, the columns that name a row, and the row's key. */
const GROUPINGS = [
  {
    by: 'project',
    label: 'Project',
    heads: [{ label: 'Project', head: true, sort: (row) => row.projectName, cell: projectCell }],
    keyOf: (row) => row.projectId,
  },
  {
    by: 'group',
    label: 'Group',
    heads: [{ label: 'Group', head: true, sort: (row) => row.groupName, cell: groupCell }],
    keyOf: (row) => row.groupId ?? '',
  },
  {
    by: 'key',
    label: 'API key',
    heads: [
      { label: 'API key', head: true, sort: (row) => row.keyName, cell: keyCell },
      { label: 'Project', sort: (row) => row.projectName, cell: projectCell },
    ],
    keyOf: (row) => `${row.projectId} ${row.keyId}`,
  },
  {
    by: 'model',
    label: 'Model',
    heads: [
      {
        label: 'Model',
        head: true,
        sort: (row) => row.model,
        cell: (row) => html`<${ModelName} of=${row.model} none="none" />`,
      },
    ],
    keyOf: (row) => row.model,
  },
]

const number = (label, value, cell = (row) => count(value(row))) => ({ label, num: true, sort: value, cell })

const COLUMNS = [
  number('Requests', (row) => row.requests),
  number(
    'Cost',
    (row) => row.cost,
    (row) => html`<${Money} of=${row.cost} />`,
  ),
  number('Input tokens', (row) => row.promptTokens),
  number('Output tokens', (row) => row.completionTokens),
]

export function GroupUsage({ of: { id } }) {
  const selected = useRange(DAY_RANGES, 'month')
  const [{ by }, setQuery] = useQuery(['by'])
  const grouping = GROUPINGS.find((one) => one.by === by) ?? GROUPINGS[0]
  const days = dayQuery(selected.range)
  const at = path`groups/${id}/usage`
  const totals = useResource((signal) => get(at, { query: { ...days, by: 'day' }, signal }), [at, days])
  const list = useList(at, 'rows', { ...days, by: grouping.by })
  const collect = useAction(async () => {
    totals.set(await get(at, { query: { ...days, by: 'day', fresh: '1' } }))
    list.reload()
  })
  const group = (name) => setQuery({ by: name === GROUPINGS[0].by ? '' : name }, { step: true })
  const tabs = html`<div class="segments" role="group" aria-label="Group by">${GROUPINGS.map(
    (one) => html`<${Button} key=${one.by} look="segment" aria-pressed=${one === grouping ? 'true' : 'false'}
      onClick=${() => one !== grouping && group(one.by)}>${one.label}<//>`,
  )}</div>`
  return html`<${Card} title="Usage" actions=${tabs}>
    <${RangeBar} of=${selected} shown=${totals.stale ? undefined : totals.data} />
    <${Loaded} of=${totals} what="the usage" rows=${3}>${(data) => html`<${Totals} of=${data.totals} />`}<//>
    <${Loaded} of=${list} what="the usage" rows=${5}>${() => html`<${Rows} list=${list} grouping=${grouping} />`}<//>
    <p><${File} at=${at} query=${{ ...days, by: grouping.by, format: 'csv' }} text="This table, CSV" />${' '}
      <${File} at=${at} query=${{ ...days, by: grouping.by, format: 'ndjson' }} text="NDJSON" />${' '}
      <${File} at=${at} query=${{ ...days, by: 'day', format: 'csv' }} text="By day, CSV" /></p>
    <p class="muted">${totals.data && html`Complete up to <${Age} at=${totals.data.asOf} />. `}${' '}
      <${Button} look="small" busy=${collect.busy} onClick=${() => collect.run()}>Collect the latest<//></p>
    <${FormError} error=${collect.error} />
  <//>`
}

function File({ at, query, text }) {
  return html`<a href=${`/api/admin/${at}${queryOf(query)}`} download>${text}</a>`
}

function Totals({ of: { cost, requests, promptTokens, completionTokens } }) {
  const tokens = promptTokens + completionTokens
  return html`<${Tiles} tiles=${[
    ['Spend', money(cost), moneyExact(cost), 'in this range'],
    ['Requests', compact(requests), count(requests), ''],
    ['Tokens', compact(tokens), count(tokens), `${compact(promptTokens)} in, ${compact(completionTokens)} out`],
  ]} />`
}

function Rows({ list, grouping: { label, heads, keyOf } }) {
  const order = useOrder('usage-sort')
  const noun = label === 'API key' ? label : label.toLowerCase()
  const byCost = [...list.data.items].sort((a, b) => b.cost - a.cost || b.requests - a.requests)
  return html`<${Listed} list=${list} noun=${noun} none=${html`<p class="muted">No requests in this range.</p>`}>
    <${Table} ...${order} caption=${`Usage by ${noun}`} columns=${[...heads, ...COLUMNS]} rows=${byCost} rowKey=${keyOf} />
  <//>`
}
