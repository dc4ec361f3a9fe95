// Builds the dashboard from control/web/src into control/web/dist. The control Worker serves it as static assets, and
// `postern serve` embeds it.
//
// Names of scripts and styles contain a content hash, so that browsers can cache them permanently. All files that a
// browser loads must be at most 140 KB gzipped together. Browsers do not load licenses.txt.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const SOURCE = join(ROOT, 'control/web/src')
const DIST = join(ROOT, 'control/web/dist')
const MAX_GZIP_BYTES = 140_000
const KEPT = '.gitkeep'
const LICENSES = 'licenses.txt'
const BUNDLED = ['preact', 'htm', 'uplot']

function clear() {
  mkdirSync(DIST, { recursive: true })
  for (const name of readdirSync(DIST)) {
    if (name !== KEPT) rmSync(join(DIST, name), { recursive: true })
  }
}

/** Bundles one entry point. Returns [placeholder in index.html, output file name] pairs. */
async function bundle(name, entry, format) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [{ in: join(SOURCE, entry), out: name }],
    entryNames: '[name]-[hash]',
    outdir: DIST,
    bundle: true,
    minify: true,
    format,
    target: ['chrome120', 'firefox121', 'safari17'],
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  return Object.keys(metafile.outputs).map((path) => [name + path.slice(path.lastIndexOf('.')), basename(path)])
}

function writeIndex(names) {
  const template = readFileSync(join(SOURCE, 'index.html'), 'utf8')
  const page = template.replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
    if (!names.has(name)) throw new Error(`index.html refers to ${name}, which no entry point produces`)
    return names.get(name)
  })
  writeFileSync(join(DIST, 'index.html'), page)
}

function writeLicenses() {
  const texts = BUNDLED.map((name) => {
    const folder = join(ROOT, 'node_modules', name)
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return `${name} ${version}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`
  })
  writeFileSync(join(DIST, LICENSES), texts.join(`\n${'-'.repeat(80)}\n\n`))
}

/** Prints the size of each file that a browser loads. Throws if the total exceeds the limit. */
function weigh() {
  const names = readdirSync(DIST).filter((name) => name !== KEPT && name !== LICENSES)
  const sizes = names.map((name) => [name, gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length])
  const sum = sizes.reduce((total, [, bytes]) => total + bytes, 0)
  const line = (name, bytes) => console.log(`${name.padEnd(28)}${(bytes / 1000).toFixed(1).padStart(8)} KB gzip`)
  for (const [name, bytes] of sizes) line(name, bytes)
  line('dashboard, total', sum)
  if (sum > MAX_GZIP_BYTES) throw new Error(`the dashboard exceeds ${MAX_GZIP_BYTES / 1000} KB gzipped`)
}

clear()
const built = [await bundle('app', 'main.js', 'esm'), await bundle('theme', 'theme-boot.js', 'iife')]
writeIndex(new Map(built.flat()))
copyFileSync(join(SOURCE, 'favicon.svg'), join(DIST, 'favicon.svg'))
writeLicenses()
weigh()
