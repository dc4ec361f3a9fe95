// Builds clients/ts/dist from clients/ts/src, file by file: ES modules in dist, CommonJS in dist/cjs, each with
// declarations. Nothing is bundled, so that all entry points of the package share their error classes.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = import.meta.dirname
process.env.PATH = `${join(folder, '../../node_modules/.bin')}:${process.env.PATH}` // also without make
const dist = join(folder, 'dist')
const cjs = join(dist, 'cjs')

rmSync(dist, { recursive: true, force: true })
const common = { entryPoints: [join(folder, 'src/*.ts')], target: 'es2022', platform: 'neutral' }
await build({ ...common, format: 'esm', outdir: dist })
await build({ ...common, format: 'cjs', outdir: cjs })
for (const out of [dist, cjs]) {
  execFileSync('tsc', ['-p', join(folder, 'tsconfig.build.json'), '--outDir', out], { stdio: 'inherit' })
}
for (const name of readdirSync(cjs)) asCommonJS(join(cjs, name))
copyFileSync(join(folder, '../../LICENSE'), join(folder, 'LICENSE')) // npm packs it

/** Renames a file, and its imports, to the extension that marks CommonJS in a package of ES modules. */
function asCommonJS(path) {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/((?:from|require\(|import\() ?["']\.\/[^"']*)\.js(["'])/g, '$1.cjs$2'))
  renameSync(path, path.replace(/\.d\.ts$/, '.d.cts').replace(/\.js$/, '.cjs'))
}
