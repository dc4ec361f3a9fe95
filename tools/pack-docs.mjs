// Puts the documentation into a folder: pack-docs.mjs FOLDER [--gzip]. The files are the pages in docs/, and beside that folder
// the hashes of their inline scripts; with --gzip, each file is compressed. The documentation is the built site in build/docs if it is
// newer than docs/, and else the Markdown.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'

const SITE = 'build/docs'
const HASHES = 'build/docs.json'

const filesOf = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true })
        .map((name) => join(folder, name))
        .filter((file) => statSync(file).isFile())
    : []

/** Whether the site was built after the last change of the documents. */
function isBuilt() {
  if (!existsSync(HASHES)) return false
  const built = statSync(HASHES).mtimeMs
  return filesOf('docs').every((file) => statSync(file).mtimeMs < built)
}

/** The files by their names. */
function documentation() {
  const found = new Map()
  const built = isBuilt()
  const from = built ? SITE : 'docs'
  for (const file of filesOf(from)) {
    if (built || file.endsWith('.md')) found.set(join('docs', relative(from, file)), readFileSync(file))
  }
  if (built) found.set('docs.json', readFileSync(HASHES))
  return found
}

/** Writes files that differ, so that no watcher and no build starts without a change, and removes those of an earlier documentation. */
function write(folder, files) {
  for (const file of filesOf(folder)) {
    const name = relative(folder, file)
    if (/^docs[/.]/.test(name) && !files.has(name)) rmSync(file)
  }
  for (const [name, data] of files) {
    const file = join(folder, name)
    if (existsSync(file) && readFileSync(file).equals(data)) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, data)
  }
}

const [folder, option] = process.argv.slice(2)
const plain = documentation()
const packed = ([name, data]) => [`${name}.gz`, gzipSync(data, { level: 9 })]
write(folder, option === '--gzip' ? new Map([...plain].map(packed)) : plain)
