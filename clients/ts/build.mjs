// Builds clients/ts/dist: ESM in index.js, CommonJS in cjs/index.cjs, and the declarations of both.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = import.meta.dirname
const dist = join(folder, 'dist')

rmSync(dist, { recursive: true, force: true })
const common = { entryPoints: [join(folder, 'src/index.ts')], bundle: true, target: 'es2022', platform: 'neutral' }
await build({ ...common, format: 'esm', outfile: join(dist, 'index.js') })
await build({ ...common, format: 'cjs', outfile: join(dist, 'cjs/index.cjs') })
for (const out of ['dist', 'dist/cjs']) declare(join(folder, out))
for (const name of readdirSync(join(dist, 'cjs'))) {
  if (name.endsWith('.d.ts')) commonDeclaration(join(dist, 'cjs', name))
}

/** Writes the declarations into a folder. */
function declare(out) {
  execFileSync('tsc', ['-p', join(folder, 'tsconfig.build.json'), '--outDir', out], { stdio: 'inherit' })
}

/** TypeScript needs its own file for CommonJS: a `.d.ts` here would describe an ES module. */
function commonDeclaration(path) {
  writeFileSync(path, readFileSync(path, 'utf8').replace(/(from '\.\/[^']*)\.js'/g, "$1.cjs'"))
  renameSync(path, path.replace(/\.d\.ts$/, '.d.cts'))
}
