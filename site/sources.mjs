// The documents of the site: which file becomes which page.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { markdownToMdast } from 'satteri'

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '..')

/**
 * The path of the index of the documents, from the root. The index is the site's first page and sets the order of its
 * sidebar.
 */
export const INDEX = 'docs/README.md'

/** The path of the API description, from the root, and the address of the pages that are generated from it. */
export const OPENAPI = 'docs/openapi.yaml'
export const API = 'reference/api/'

/**
 * The files outside docs/ that become pages, and their addresses. All other pages below these addresses come from
 * docs/.
 */
const OUTSIDE = {
  'RATIONALE.md': 'project/decisions/',
  'CHANGELOG.md': 'project/changelog/',
  'SECURITY.md': 'project/security-policy/',
  'CONTRIBUTING.md': 'project/contributing/',
}

/**
 * Reads all documents.
 * @returns {Map<string, {address: string, title: string, text: string}>} by the path from the root; `address` is relative to the
 *   site's base, such as `guides/caching/`; `title` is Markdown.
 */
export function documents() {
  const found = new Map()
  const outside = Object.keys(OUTSIDE).filter((file) => existsSync(join(ROOT, file)))
  for (const file of [...markdownIn('docs'), ...outside]) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    found.set(file, { address: OUTSIDE[file] ?? addressOf(file), title: titleOf(file, text), text })
  }
  return found
}

function markdownIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(relative(ROOT, entry.parentPath), entry.name))
    .sort()
}

function addressOf(file) {
  return file
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$|\.md$/, '$1')
    .replace(/([^/])$/, '$1/')
}

function titleOf(file, text) {
  const heading = markdownToMdast(text).children[0]
  if (heading?.type !== 'heading' || heading.depth !== 1)
    throw new Error(`${file}: the first line must be its title, "# …"`)
  return sourceOf(text, heading.children)
}

/** Returns the source text of consecutive nodes. */
export function sourceOf(text, nodes) {
  return text.slice(nodes[0].position.start.offset, nodes.at(-1).position.end.offset)
}
