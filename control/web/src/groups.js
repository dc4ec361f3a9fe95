// The tree of groups: the deployment at the top, groups on up to two levels below it, and projects.
import { matchesWords } from './palette/query.js'

/** The ID of the group at the top. */
export const ROOT = 'root'

/** Larger trees show only the first level at first. */
const OPEN_UP_TO = 100

const collator = new Intl.Collator('en', { numeric: true })
const byName = (a, b) => collator.compare(a.name, b.name)

/** Groups with the names from the first level down, such as Research / Vision, sorted by them. */
export function withPaths(groups) {
  const names = new Map(groups.map(({ id, name }) => [id, name]))
  const pathOf = ({ parent, name }) => [names.get(parent), name].filter(Boolean).join(' / ')
  return groups.map((group) => ({ ...group, path: pathOf(group) })).sort((a, b) => collator.compare(a.path, b.path))
}

/** Records sorted by name, in lists by the ID of what they are in. */
function grouped(records, idOf) {
  const lists = new Map()
  for (const record of [...records].sort(byName)) {
    const list = lists.get(idOf(record))
    if (list) list.push(record)
    else lists.set(idOf(record), [record])
  }
  return lists
}

/**
 * @typedef {{id: string, kind: 'deployment' | 'group' | 'project', record: object, depth: number, within: string,
 *   children: Node[]}} Node  depth: 0 for the top of the tree; within: the name of the node above, or ''
 */

/**
 * The tree below a group. Groups come before projects, and both are sorted by name.
 * @param {{root: object, groups: object[], projects: object[]}} all the root, the other groups, and the projects
 * @param {string} [top] the ID of the group at the top
 * @returns {Node | undefined}
 */
export function treeOf({ root, groups, projects }, top = ROOT) {
  const groupsIn = grouped(groups, ({ parent }) => parent)
  const projectsIn = grouped(projects, ({ group }) => group ?? ROOT)
  const node = (record, kind, depth, within) => {
    const below = (child, kind) => node(child, kind, depth + 1, record.name)
    const children =
      kind === 'project'
        ? []
        : [
            ...(groupsIn.get(record.id) ?? []).map((child) => below(child, 'group')),
            ...(projectsIn.get(record.id) ?? []).map((child) => below(child, 'project')),
          ]
    return { id: record.id, kind, record, depth, within, children }
  }
  if (top === ROOT) return node(root, 'deployment', 0, '')
  const record = groups.find(({ id }) => id === top)
  return record && node(record, 'group', 0, '')
}

/** Whether a group or a project is archived. */
export const isArchived = ({ archived, status }) => archived === true || status === 'archived'

/** The number of nodes of a tree. */
export const sizeOf = ({ children }) => children.reduce((sum, child) => sum + sizeOf(child), 1)

/**
 * The nodes to show, each above its children.
 * @param {Node} tree
 * @param {{text: string, archived: boolean, opened: Map<string, boolean>}} view
 *   text: words that a node's name must contain. The nodes above a match are shown too; archived: also show archived
 *   nodes and their contents; opened: what the user opened and closed
 * @returns {(Node & {open: boolean})[]}
 */
export function rowsOf(tree, { text, archived, opened }) {
  const few = sizeOf(tree) <= OPEN_UP_TO
  const rows = (node) => {
    if (node.depth > 0 && !archived && isArchived(node.record)) return []
    const open = text !== '' || (opened.get(node.id) ?? (few || node.depth === 0))
    const below = open ? node.children.flatMap(rows) : []
    if (text !== '' && below.length === 0 && !matchesWords(node.record.name, text)) return []
    return [{ ...node, open }, ...below]
  }
  return rows(tree)
}

/** The number of groups and projects directly in a group. */
export function contentsOf({ children }) {
  const groups = children.filter(({ kind }) => kind === 'group').length
  return { groups, projects: children.length - groups }
}
