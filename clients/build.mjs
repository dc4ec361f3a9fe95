// Builds the npm packages of this folder, and checks their types.
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import './link.mjs'
import './ts/build.mjs'

// The frameworks' packages are ES modules. Node 22, which these frameworks need, can also `require` them.
for (const name of ['ai-sdk', 'langchain']) {
  const absWorkingDir = join(import.meta.dirname, name)
  rmSync(join(absWorkingDir, 'dist'), { recursive: true, force: true })
  const entryPoints = ['src/index.ts']
  const common = { bundle: true, packages: 'external', format: 'esm', target: 'es2022' }
  await build({ ...common, absWorkingDir, entryPoints, outdir: 'dist' })
  execFileSync('tsc', ['-p', absWorkingDir], { stdio: 'inherit' })
  copyFileSync(join(import.meta.dirname, '../LICENSE'), join(absWorkingDir, 'LICENSE')) // npm packs it
}
