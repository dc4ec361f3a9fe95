// The tree of groups and projects, as a table with the spend and the reset of each.
import { useRef, useState } from 'preact/hooks'
import { get, path } from '../api.js'
import { Age } from '../components/age.js'
import { Badge } from '../components/badge.js'
import { lookOf } from '../components/budget.js'
import { Button } from '../components/button.js'
import { Money } from '../components/money.js'
import { Name } from '../components/name.js'
import { Failure, Loaded, shownElsewhere } from '../components/states.js'
import { Table } from '../components/table.js'
import { count, money, percent, plural } from '../format.js'
import { contentsOf, isArchived, ROOT, rowsOf, treeOf } from '../groups.js'
import { html } from '../html.js'
import { useList } from '../lists.js'
import { withPage } from '../overview.js'
import { orNull } from '../palette/sources.js'
import { useBoth, useResource } from '../resource.js'
import { to } from '../router.js'
import { budgetShare } from '../usage.js'
import { perPeriod } from '../values.js'

const AT_ONCE = 100
const CALLS_AT_ONCE = 4

/**
 * The groups and projects, as resources.
 * @returns {{groups: object, projects: object, figures: object, refresh: object}}
 *   groups: {root, groups}; projects: the list of all projects; figures: the projects' budgets by project ID, as they
 *   last reported them; refresh: all of it, for the component Refresh
 */
export function useAllNodes() {
  const groups = useResource(async (signal) => {
    const [root, list] = await Promise.all([get(path`groups/${ROOT}`, { signal }), get('groups', { signal })])
    return { root, groups: list.groups }
  }, [])
  const projects = useList('projects', 'projects', {}, { all: true })
  const figures = useResource(async (signal) => {
    let report = await get('overview', { query: { range: '2h' }, signal })
    while (report.next) {
      const page = await get('overview', { query: { range: '2h', after: report.next }, signal })
      report = withPage(report, page)
    }
    return new Map(report.projects.map((row) => [row.projectId, row]))
  }, [])
  return { groups, projects, figures, refresh: useBoth(useBoth(groups, projects), figures) }
}

/**
 * Groups with the spent parts of their budgets. The list of groups does not have them, so each shown group is loaded once.
 * @param {string[]} ids @param {number} at the time of the list. After a reload of the list, all are loaded again
 */
function useSpends(ids, at) {
  const known = useRef({ at: 0, groups: new Map() })
  return useResource(
    async (signal) => {
      if (known.current.at !== at) known.current = { at, groups: new Map() }
      const { groups } = known.current
      const missing = ids.filter((id) => !groups.has(id))
      const load = async () => {
        for (let id = missing.shift(); id; id = missing.shift())
          groups.set(id, { group: await orNull(get(path`groups/${id}`, { signal })), at: new Date().toISOString() })
      }
      await Promise.all(Array.from({ length: CALLS_AT_ONCE }, load))
      return new Map(groups)
    },
    [ids, at],
  )
}

/**
 * @param {{nodes: ReturnType<typeof useAllNodes>, top?: string, text?: string, archived?: boolean, caption: string, none: any}} props
 *   top: the group at the top, which is the first row; text, archived: see rowsOf; none: shown if the top is the only row
 */
export function GroupTree({ nodes: { groups, projects, figures }, ...props }) {
  return html`<${Loaded} of=${groups} what="the groups" rows=${6}>${(loaded) => html`
    <${Loaded} of=${projects} what="the projects" rows=${6}>${(
      list,
    ) => html`<${Rows} ...${props} all=${{ ...loaded, projects: list.items }} at=${groups.at} figures=${figures} />
      ${list.next && html`<p class="muted" role="status">${plural(list.items.length, 'project')} so far. Reading on…</p>`}`}<//>`}<//>`
}

function Rows({ all, at, top = ROOT, text = '', archived = true, figures, caption, none }) {
  const [opened, setOpened] = useState(new Map())
  const [wanted, setWanted] = useState(AT_ONCE)
  const tree = treeOf(all, top)
  const rows = tree ? rowsOf(tree, { text: text.trim(), archived, opened }) : []
  const shown = rows.slice(0, wanted)
  const spends = useSpends(
    shown.filter(({ kind }) => kind !== 'project').map(({ id }) => id),
    at,
  )
  if (rows.length < 2) return none
  const toggle = ({ id, open }) => setOpened(new Map(opened).set(id, !open))
  const valued = shown.map((row) => ({ ...row, of: figuresOf(row, spends.data, figures.data) }))
  return html`
    ${spends.error && !shownElsewhere(spends.error) && html`<${Failure} error=${spends.error} retry=${spends.reload} what="the spend" />`}
    <${Table} caption=${caption} columns=${columnsOf(toggle, text !== '')} rows=${valued} rowKey=${({ id }) => id} />
    <div class="more">
      <span role="status" class="muted">${numbersOf(rows, shown)}</span>
      ${shown.length < rows.length && html`<${Button} onClick=${() => setWanted(wanted + AT_ONCE)}>Show more<//>`}
    </div>`
}

function numbersOf(rows, shown) {
  if (shown.length < rows.length) return `${count(shown.length)} of ${count(rows.length)} rows shown`
  const groups = rows.filter(({ kind }) => kind === 'group').length
  const projects = rows.filter(({ kind }) => kind === 'project').length
  return `${plural(groups, 'group')} and ${plural(projects, 'project')} shown`
}

/**
 * What a node has spent: in dollars, or undefined while it is loading, or null if nothing is known. Also the time of the
 * reset, and the time of the figures.
 */
function figuresOf({ id, kind }, spends, projects) {
  if (kind === 'project') {
    if (!projects) return {}
    const { budget, reportedAt = null } = projects.get(id) ?? {}
    return { used: budget?.used ?? null, resetsAt: budget?.end ?? null, at: reportedAt }
  }
  const found = spends?.get(id)
  if (!found) return {}
  const { spent } = found.group ?? {}
  return { used: spent?.amount ?? null, resetsAt: spent?.resetsAt ?? null, at: found.at }
}

const columnsOf = (toggle, searching) => [
  {
    label: 'Name',
    head: true,
    cell: (row) => html`<${NodeName} of=${row} toggle=${searching ? undefined : toggle} />`,
  },
  { label: 'Budget', num: true, cell: ({ record }) => html`<${Budget} of=${record} />` },
  { label: 'Spent', num: true, title: 'In the present budget period', cell: ({ of }) => amount(of.used) },
  { label: 'Used', num: true, cell: ({ record, of }) => html`<${Used} limit=${record.budget} used=${of.used} />` },
  { label: 'Resets (UTC)', cell: ({ record, of }) => resetOf(record, of) },
  { label: 'State', cell: ({ record }) => html`<${State} of=${record} />` },
  { label: 'As of', title: 'The age of the figures', cell: ({ of }) => html`<${Age} at=${of.at} none="–" />` },
]

/** A node's name, indented by its depth, with a button that opens and closes a group. */
function NodeName({ of: row, toggle }) {
  const { id, kind, record, depth, within, open, children } = row
  const { groups, projects } = contentsOf(row)
  const holds = [groups > 0 && plural(groups, 'group'), projects > 0 && plural(projects, 'project')].filter(Boolean)
  const href = kind === 'project' ? to('projects', id) : to('groups', id)
  return html`<span class=${`node depth-${depth}`}>
    ${
      children.length > 0 && toggle
        ? html`<button type="button" class="twisty" aria-expanded=${open ? 'true' : 'false'} aria-label=${`Contents of ${record.name}`}
            onClick=${() => toggle(row)}><span aria-hidden="true">${open ? '▾' : '▸'}</span></button>`
        : html`<span class="twisty" aria-hidden="true"></span>`
    }
    <span><${Name} text=${record.name} href=${href} />
      <span class="under">${within ? `${kind} in ${within}` : kind}${holds.length > 0 && `, with ${holds.join(' and ')}`}</span></span>
  </span>`
}

function Budget({ of: { budget, budgetPeriod } }) {
  if (budget === null || budget === undefined) return html`<span class="muted">none</span>`
  return html`<${Money} of=${budget} /><span class="under">${perPeriod(budgetPeriod)}</span>`
}

function amount(used) {
  if (used === undefined) return '…'
  return used === null ? html`<span class="muted">–</span>` : html`<${Money} of=${used} />`
}

function Used({ limit, used }) {
  if (limit === null || limit === undefined || used === null || used === undefined) return '–'
  const look = lookOf(budgetShare({ limit, used }))
  const text = limit > 0 ? percent(used, limit) : '100%'
  return html`<span title=${`${money(used)} of ${money(limit)}`}>${look ? html`<${Badge} of=${text} look=${look} />` : text}</span>`
}

function resetOf({ budgetPeriod }, { used, resetsAt }) {
  if (used === undefined) return '…'
  if (budgetPeriod === 'total') return 'never'
  return resetsAt ? html`<span class="nowrap">${resetsAt.slice(0, 10)}</span>` : '–'
}

/** Whether a group stops requests, or whether it or a project is archived. */
function State({ of: record }) {
  if (isArchived(record)) return html`<${Badge} of="archived" />`
  if (record.enforce === 'soft') return html`<${Badge} of="soft" look="warn" />`
  return html`<${Badge} of=${isLimited(record) ? 'hard' : 'active'} look="good" />`
}

const isLimited = ({ enforce, budget, limits }) =>
  enforce === 'hard' && (budget !== null || Object.values(limits).some((limit) => limit !== null))
