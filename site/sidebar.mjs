// The sidebar, as docs/README.md lists the documents.
import { posix } from 'node:path'
import { markdownToMdast } from 'satteri'
import { apiPages } from './api.mjs'
import { documents, INDEX, OPENAPI, sourceOf } from './sources.mjs'

/**
 * Returns the groups of the sidebar, in Starlight's form.
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

/** An item of the index starts with the link to its document. */
function entry(item, text, all, listed) {
  const link = item.children[0]?.children?.[0]
  if (link?.type !== 'link') throw new Error(`${INDEX}: "${sourceOf(text, [item])}" must start with a link`)
  const label = sourceOf(text, link.children)
  const file = posix.join(posix.dirname(INDEX), link.url)
  if (file === OPENAPI)
    return { label, collapsed: true, items: apiPages().map(({ label, address }) => ({ label, link: `/${address}` })) }
  const page = all.get(file)
  if (!page) throw new Error(`${INDEX} lists ${link.url}, which is no document`)
  listed.add(file)
  return { label, link: `/${page.address}` }
}
