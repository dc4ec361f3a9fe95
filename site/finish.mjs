// Makes the built pages comply with a strict content policy and limits their size.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { BASE } from './markdown.mjs'
import { SHIPPED } from './shipped.mjs'

/**
 * The maximum total size of all files in bytes. Each file counts with its size after gzip if that is smaller. The
 * server embeds them.
 */
const MAX_BYTES = 3_000_000

/** A start tag, a comment, or an inline script or style with its content. The text between them is not changed. */
const MARKUP =
  /<!--[\s\S]*?-->|<(script|style)\b([^>]*)>([\s\S]*?)<\/\1>|<[a-z][^\s/>]*(?:\s+[^\s=/>]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*\s*\/?>/gi
const STYLE = /\sstyle=(?:"([^"]*)"|'([^']*)')/i
const CLASS = /\sclass=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i

/** Files of Pagefind for user interfaces that Starlight does not use. */
const UNUSED = /^(pagefind-(component-ui|modular-ui|ui|highlight)\.(js|css)|wasm\.unknown\.pagefind)$/

/**
 * Finishes a build in place.
 * @param {string} folder the output of Astro
 * @returns {{scripts: string[], styles: string[], files: number, bytes: number}} the sources of the content policy for inline
 *   scripts and styles, such as `'sha256-…'`, and the size of all files, compressed
 * @throws {Error} if a page has what no policy of hashes permits, or links to an address that does not exist, or if the
 *   files are too large
 */
export function finish(folder) {
  const sheet = new Sheet()
  const hashes = { script: new Set(), style: new Set() }
  for (const name of readdirSync(join(folder, 'pagefind')))
    if (UNUSED.test(name)) rmSync(join(folder, 'pagefind', name))
  withoutFocusScript(folder)
  writeLicenses(folder)
  const pages = filesOf(folder).filter((file) => file.endsWith('.html'))
  const texts = pages.map((file) => rewritten(readFileSync(file, 'utf8'), sheet, hashes, file))
  const name = `_astro/attributes.${sheet.hash()}.css`
  writeFileSync(join(folder, name), sheet.text())
  const link = `<link rel="stylesheet" href="${BASE}${name}"/></head>`
  for (const [i, file] of pages.entries()) writeFileSync(file, texts[i].replace('</head>', link))
  return { scripts: [...hashes.script].sort(), styles: [...hashes.style].sort(), ...size(folder) }
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
}

function writeLicenses(folder) {
  const texts = Object.entries(SHIPPED).map(([name, file]) => {
    const text = readFileSync(join(import.meta.dirname, 'node_modules', name, file), 'utf8')
    return `${name}\n\n${text.trim()}\n`
  })
  writeFileSync(join(folder, 'licenses.txt'), texts.join('\n\n'))
}

/**
 * Removes the part of Expressive Code's script that makes wide blocks focusable, because src/scrollable.js does that.
 * The original would also turn each block into a landmark, all with the same name. The script gets a name with the hash
 * of its new content, because browsers keep files in _astro for a year.
 */
function withoutFocusScript(folder) {
  const name = readdirSync(join(folder, '_astro')).find((file) => /^ec\..*\.js$/.test(file))
  const file = join(folder, '_astro', name)
  const lines = readFileSync(file, 'utf8').split('\n')
  const kept = lines.filter((line) => !line.includes('tabindex-js-module'))
  if (kept.length === lines.length) throw new Error(`${file} has another form: see withoutFocusScript`)
  const text = kept.join('\n')
  const renamed = `ec.${hashOf(text)}.js`
  rmSync(file)
  writeFileSync(join(folder, '_astro', renamed), text)
  for (const user of filesOf(folder).filter((other) => /\.(html|js|css)$/.test(other))) {
    const source = readFileSync(user, 'utf8')
    if (source.includes(name)) writeFileSync(user, source.replaceAll(name, renamed))
  }
}

/** The hash of a file's content in the file's name. */
const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 8)

function rewritten(html, sheet, hashes, file) {
  // A header cell needs text, but the first cell in a table's head often has none.
  return html.replace(/<th([^>]*)><\/th>/g, '<td$1></td>').replace(MARKUP, (tag, element, attributes, content) => {
    if (tag.startsWith('<!--')) return ''
    if (element) {
      const isInline = element === 'style' || !/\ssrc=/.test(attributes)
      if (isInline) hashes[element].add(`'sha256-${createHash('sha256').update(content).digest('base64')}'`)
      return tag
    }
    if (/\son[a-z]+=/i.test(tag)) throw new Error(`${file}: an event handler in ${tag}`)
    if (/\shref="https?:\/\/github\.com\/postern-ai/.test(tag)) throw new Error(`${file}: ${tag} leads nowhere`)
    return withoutStyle(accessible(tag), sheet)
  })
}

/** Fixes the problems that axe finds in the tags of Starlight and Expressive Code. */
function accessible(tag) {
  // The name of the search is its text. Where there is no room for it, site.css keeps it for screen readers.
  if (tag.startsWith('<button data-open-modal')) return tag.replace(' aria-label="Search"', '')
  if (tag.startsWith('<span class="sl-hidden md:sl-block')) return tag.replace(' aria-hidden="true"', '')
  // The search's shortcut is not part of its name, because aria-keyshortcuts already contains it. Starlight's script
  // shows the shortcut by removing the style.
  if (tag.startsWith('<kbd') && /style="display: ?none/.test(tag)) return tag.replace(STYLE, ' aria-hidden="true"')
  return tag
}

/** Replaces a style attribute with a class, because a style attribute cannot have a hash. */
function withoutStyle(tag, sheet) {
  const style = tag.match(STYLE)
  if (!style) return tag
  const bare = tag.replace(STYLE, '')
  const rule = (style[1] ?? style[2]).replace(/;\s*$/, '')
  const name = sheet.classOf(rule)
  const classes = bare.match(CLASS)
  if (classes) return bare.replace(CLASS, () => ` class="${classes[1] ?? classes[2] ?? classes[3]} ${name}"`)
  return bare.replace(/^<[^\s/>]+/, (start) => `${start} class="${name}"`)
}

/** A style sheet with the rules of all style attributes. */
class Sheet {
  #names = new Map()

  classOf(rule) {
    if (!this.#names.has(rule)) this.#names.set(rule, `y${this.#names.size.toString(36)}`)
    return this.#names.get(rule)
  }

  /** Each name is repeated so that the rule takes precedence over other classes, as an attribute would. */
  text() {
    return [...this.#names].map(([rule, name]) => `.${name}.${name}.${name}{${rule}}\n`).join('')
  }

  hash() {
    return hashOf(this.text())
  }
}

function size(folder) {
  const all = filesOf(folder).map((file) => {
    const data = readFileSync(file)
    return Math.min(data.length, gzipSync(data, { level: 9 }).length)
  })
  const bytes = all.reduce((sum, n) => sum + n, 0)
  if (bytes > MAX_BYTES) throw new Error(`the site has ${bytes} bytes, compressed; at most ${MAX_BYTES} are allowed`)
  return { files: all.length, bytes }
}
