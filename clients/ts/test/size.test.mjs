// The size of the entire client, as a bundler would include it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

// Of this size, webhooks and proxies from the environment take 2 KB. A program that does not use webhooks does not
// bundle them.
const MAX_GZIP_BYTES = 15 * 1024
const entry = new URL('../dist/index.js', import.meta.url)

test('the minified bundle of everything is at most 15 KB with gzip', async (t) => {
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

test('the package needs no other package', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  assert.equal(dependencies, undefined)
  // undici is needed only for proxies in Node.js and is loaded only there.
  assert.deepEqual(Object.keys(peerDependencies), ['undici'])
  assert.deepEqual(peerDependenciesMeta, { undici: { optional: true } })
})
