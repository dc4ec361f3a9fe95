// Makes the sidebar from the list of documents in docs/README.md.
import { posix } from 'node:path'
import { markdownToMdast } from 'satteri'
import { apiPages } from './api.mjs'
import { documents, INDEX, OPENAPI, sourceOf } from './sources.mjs'

/**
 * Returns the groups of the sidebar in Starlight's format.
 * @throws {Error} if a document is not in the index
 */
export function sidebar() {
  const all = documents()
  const { text } = all.get(INDEX)
  const groups = []
  const listed = new Set([INDEX])
  for (const node of markdownToMdast(text).children) {
    if (node.type === 'heading' && node.depth === 2) groups.push({ label: sourceOf(text, node.children), items: [] })
    if (node.type !== 'list' || groups.length === 0) continue
    for (const item of node.children) groups.at(-1).items.push(entry(item, text, all, listed))
  }
  const missing = [...all.keys()].filter((file) => file.startsWith('docs/') && !listed.has(file))
  if (missing.length > 0) throw new Error(`${INDEX} must list: ${missing.join(', ')}`)
  return groups.filter((group) => group.items.length > 0)
}

/**
 * An item of the index starts with a link to its document. An item with a list below it is a group, and its document is
 * the first in the group.
 */
function entry(item, text, all, listed) {
  const [paragraph, below] = item.children
  const anchor = paragraph?.children?.[0]
  if (anchor?.type !== 'link') throw new Error(`${INDEX}: "${sourceOf(text, [item])}" must start with a link`)
  const label = sourceOf(text, anchor.children)
  const file = posix.join(posix.dirname(INDEX), anchor.url)
  if (file === OPENAPI)
    return { label, collapsed: true, items: apiPages().map(({ label, address }) => ({ label, link: `/${address}` })) }
  const page = all.get(file)
  if (!page) throw new Error(`${INDEX} lists ${anchor.url}, which is no document`)
  listed.add(file)
  const link = `/${page.address}`
  if (below?.type !== 'list') return { label, link }
  const items = below.children.map((nested) => entry(nested, text, all, listed))
  return { label, collapsed: true, items: [{ label: 'Overview', link }, ...items] }
}
