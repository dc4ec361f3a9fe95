// Writes the pages of the site to src/content/docs, from which Astro builds them.
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { apiPages } from './api.mjs'
import { frontMatter, pageOf } from './markdown.mjs'
import { documents, OPENAPI, ROOT } from './sources.mjs'

const PAGES = join(import.meta.dirname, 'src/content/docs')
const IMAGES = join(import.meta.dirname, 'public')

/** Removes the pages of the previous build, and writes all pages. */
export function writeContent() {
  for (const folder of [PAGES, IMAGES]) rmSync(folder, { recursive: true, force: true })
  const all = documents()
  for (const [file, { address, text }] of all) write(address, pageOf(file, text, all))
  for (const { address, text } of apiPages()) write(address, pageOf(OPENAPI, linked(text), all))
  writeFileSync(
    join(PAGES, '404.md'),
    `${frontMatter('Page not found')}No document has this address. [The index](/docs/) lists all documents.\n`,
  )
  copyImages()
}

function write(address, text) {
  const file = join(PAGES, address, 'index.md')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Turns the names of documents in the API's descriptions into links, unless they are links already. */
function linked(text) {
  return text.replace(/(?<![[\w/(])docs\/([\w/-]+\.md)/g, '[docs/$1]($1)')
}

function copyImages() {
  mkdirSync(IMAGES, { recursive: true })
  copyFileSync(join(ROOT, 'control/web/src/favicon.svg'), join(IMAGES, 'favicon.svg'))
  const docs = join(ROOT, 'docs')
  for (const entry of readdirSync(docs, { recursive: true, withFileTypes: true })) {
    if (!/\.(png|svg)$/.test(entry.name)) continue
    const to = join(IMAGES, relative(docs, entry.parentPath), entry.name)
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(join(entry.parentPath, entry.name), to)
  }
}
