// Converts a document's Markdown for the site. Documents are written for a code host, and nothing in them is specific
// to the site.
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { markdownToMdast } from 'satteri'
import { API, OPENAPI, ROOT, sourceOf } from './sources.mjs'
import { tabs } from './tabs.mjs'

/** The path prefix under which the site is served. */
export const BASE = '/docs/'

/** Matches names of Go packages of this module, which look like addresses but do not exist as such. */
const MODULE = /^https?:\/\/github\.com\/postern-ai\//

/**
 * Returns a document as a page of the site. The title becomes front matter, links between documents become links
 * between pages, links to other files become their names, and code blocks in several languages become tabs.
 * @param {string} file its path from the root
 * @param {string} text its Markdown
 * @param {Map} all the result of documents()
 * @throws {Error} if it links to a file that does not exist
 */
export function pageOf(file, text, all) {
  const tree = markdownToMdast(text)
  const [heading] = tree.children
  const edits = [{ node: heading, by: '' }, ...links(file, text, tree, all), ...tabs(tree, text)]
  return `${frontMatter(sourceOf(text, heading.children))}${edited(text, edits)}`
}

/** Returns the head of a page. A title is plain text, so backticks are removed. */
export function frontMatter(title) {
  return `---\ntitle: ${JSON.stringify(title.replaceAll('`', ''))}\n---\n`
}

/**
 * Applies edits. An edit with `before` or `after` inserts text before or after its node. Any other replaces the node.
 */
function edited(text, edits) {
  const pieces = edits.map(({ node, by, before, after }) => {
    const { start, end } = node.position
    if (before !== undefined) return { from: start.offset, to: start.offset, by: before }
    if (after !== undefined) return { from: end.offset, to: end.offset, by: after }
    return { from: start.offset, to: end.offset, by }
  })
  pieces.sort((a, b) => b.from - a.from || b.to - a.to)
  return pieces.reduce((done, { from, to, by }) => done.slice(0, from) + by + done.slice(to), text)
}

function links(file, text, tree, all) {
  const edits = []
  visit(tree, (node) => {
    if (node.type === 'link') {
      const by = linkOf(file, text, node, all)
      if (by !== undefined) edits.push({ node, by })
    }
    if (node.type === 'image') edits.push({ node, by: imageOf(file, node) })
    if (node.type === 'definition') throw new Error(`${file}: write the address of [${node.label}] into the link`)
  })
  return edits
}

function visit(node, each) {
  each(node)
  for (const child of node.children ?? []) visit(child, each)
}

/** Returns the replacement for a link, or undefined if the link stays unchanged. */
function linkOf(file, text, node, all) {
  const label = node.children.length > 0 ? sourceOf(text, node.children) : node.url
  if (MODULE.test(node.url)) return label
  if (/^([a-z]+:|#|\/)/i.test(node.url)) return undefined
  const [path, anchor] = node.url.split('#')
  const target = posix.join(posix.dirname(file), path)
  if (!existsSync(join(ROOT, target))) throw new Error(`${file}: the link to ${node.url} leads nowhere`)
  const suffix = anchor ? `#${anchor}` : ''
  if (target === OPENAPI) return `[${label.endsWith('openapi.yaml') ? 'API reference' : label}](${BASE}${API}${suffix})`
  const page = all.get(target) ?? all.get(posix.join(target, 'README.md'))
  if (page) return `[${isFileName(label) ? page.title : label}](${BASE}${page.address}${suffix})`
  return nameOf(label, target)
}

/** Returns the path of a file that is not a page. The link's text comes before it, unless the text is the path. */
function nameOf(label, target) {
  const path = target.replace(/\/$/, '')
  const plain = label.replaceAll('`', '').replace(/\/$/, '')
  return path.includes(plain) || plain.endsWith(path) ? `\`${path}\`` : `${label} (\`${path}\`)`
}

function isFileName(label) {
  return /^`?[\w./-]+\.md`?$/.test(label)
}

/** Images are copied next to the pages, so only their address changes. */
function imageOf(file, node) {
  const target = posix.join(posix.dirname(file), node.url)
  if (!existsSync(join(ROOT, target))) throw new Error(`${file}: the image ${node.url} does not exist`)
  return `![${node.alt ?? ''}](${BASE}${target.replace(/^docs\//, '')})`
}
