// Puts the documentation into a folder: pack-docs.mjs FOLDER [--gzip]. The files are the pages in docs/ and, next to
// that folder, the hashes of their inline scripts. With --gzip, each file is compressed. If the built site in
// build/docs is newer than docs/, it is the documentation. Otherwise, the Markdown is.
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

/** Whether the site was built after the last change to the documents. */
function isBuilt() {
  if (!existsSync(HASHES)) return false
  const built = statSync(HASHES).mtimeMs
  return filesOf('docs').every((file) => statSync(file).mtimeMs < built)
}

/** The files, keyed by name. */
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

/**
 * Writes only files that differ, so that no watcher or build starts without a change. Removes files of an earlier
 * version of the documentation.
 */
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
