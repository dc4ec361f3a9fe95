// The size of the client, whole, as a bundler would include it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const MAX_GZIP_BYTES = 12 * 1024
const entry = new URL('../dist/index.js', import.meta.url)

test('the minified bundle of everything is at most 12 KB with gzip', async (t) => {
  const { outputFiles } = await build({
    entryPoints: [entry.pathname],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
  })
  const bytes = gzipSync(outputFiles[0].contents, { level: 9 }).length
  t.diagnostic(`${bytes} bytes`)
  assert.ok(bytes <= MAX_GZIP_BYTES, `${bytes} bytes`)
})

test('the package has no dependencies', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  assert.deepEqual([manifest.dependencies, manifest.peerDependencies], [undefined, undefined])
})
