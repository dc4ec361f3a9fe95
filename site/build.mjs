// Builds the documentation site: node site/build.mjs. Writes build/docs, and build/docs.json with the hashes that its
// content policy allows.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeContent } from './content.mjs'
import { finish } from './finish.mjs'
import { ROOT } from './sources.mjs'

process.env.ASTRO_TELEMETRY_DISABLED = '1'

// The code that Astro generates runs with packages in this folder, so it must first be in this folder.
const NEW = join(import.meta.dirname, 'dist')
const OUT = join(ROOT, 'build/docs')

async function main() {
  writeContent()
  const { build } = await import('astro') // reads the variable
  await build({ root: import.meta.dirname, logLevel: 'error' })
  const { scripts, styles, files, bytes } = finish(NEW)
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  rmSync(OUT, { recursive: true, force: true })
  renameSync(NEW, OUT)
  writeFileSync(`${OUT}.json`, `${JSON.stringify({ scripts, styles }, null, 2)}\n`)
  console.log(`build/docs: ${files} files, ${Math.round(bytes / 1000)} kB compressed`)
}

await main()
