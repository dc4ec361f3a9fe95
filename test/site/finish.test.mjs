// Checks the last step of a build. It changes pages so that a content security policy with hashes permits everything
// in them.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { finish } from '../../site/finish.mjs'

const folders = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** A built site with one page and the files that every site has. */
function siteOf(body) {
  const folder = mkdtempSync(join(tmpdir(), 'site-'))
  folders.push(folder)
  for (const name of ['pagefind', '_astro']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'pagefind/pagefind-ui.js'), 'unused')
  writeFileSync(join(folder, '_astro/ec.1.js'), 'try { tabindex-js-module }\ncopy()')
  writeFileSync(join(folder, 'index.html'), `<html><head></head><body>${body}</body></html>`)
  return folder
}

const page = (folder) => readFileSync(join(folder, 'index.html'), 'utf8')

test('a style attribute becomes a class, text that looks like one stays', () => {
  const folder = siteOf('<b class="x" style="--a:1">one</b><i style="--a:1;">two</i><code>&lt;b style="c"></code>')
  finish(folder)
  assert.match(page(folder), /<b class="x y0">one<\/b><i class="y0">two<\/i><code>&lt;b style="c"><\/code>/)
  const [, sheet] = page(folder).match(
    /<link rel="stylesheet" href="\/docs\/(_astro\/attributes\.[0-9a-f]+\.css)"\/><\/head>/,
  )
  assert.equal(readFileSync(join(folder, sheet), 'utf8'), '.y0.y0.y0{--a:1}\n')
})

test('inline scripts and styles are listed by hash, and stay as they are', () => {
  const script = '\n\tif (a < b) document.write("<b style=x onclick=y>")\n'
  const folder = siteOf(
    `<script>${script}</script><style>b{c:d}</style><script type="module" src="/docs/a.js"></script>`,
  )
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const { scripts, styles } = finish(folder)
  assert.deepEqual([scripts, styles], [[hash(script)], [hash('b{c:d}')]])
  assert.ok(page(folder).includes(script))
})

test('what no page needs is removed, and licenses are added', () => {
  const folder = siteOf('<p>a</p>')
  finish(folder)
  assert.deepEqual(readdirSync(join(folder, 'pagefind')), [])
  assert.match(readFileSync(join(folder, 'licenses.txt'), 'utf8'), /starlight[\s\S]*MIT[\s\S]*pagefind/)
})

test('a script that changed gets another name, which its users know', () => {
  const [first, second] = ['copy()', 'copyAll()'].map((rest) => {
    const folder = siteOf('<script type="module" src="/docs/_astro/ec.1.js"></script>')
    writeFileSync(join(folder, '_astro/ec.1.js'), `try { tabindex-js-module }\n${rest}`)
    writeFileSync(join(folder, '_astro/page.2.js'), 'import "./ec.1.js"')
    finish(folder)
    const [, name] = page(folder).match(/<script type="module" src="\/docs\/_astro\/(ec\.[0-9a-f]{8}\.js)"><\/script>/)
    assert.equal(readFileSync(join(folder, '_astro', name), 'utf8'), rest)
    assert.equal(readFileSync(join(folder, '_astro/page.2.js'), 'utf8'), `import "./${name}"`)
    assert.ok(!readdirSync(join(folder, '_astro')).includes('ec.1.js'))
    return name
  })
  assert.notEqual(first, second)
})

test('what no policy of hashes permits ends the build, and so do links that lead nowhere', () => {
  for (const body of ['<p onclick="a()">a</p>', '<a href="https://github.com/postern-ai/postern">a</a>']) {
    assert.throws(() => finish(siteOf(body)), /index\.html: /, body)
  }
})

test('a site that is too large ends the build', () => {
  const folder = siteOf('<p>a</p>')
  writeFileSync(join(folder, 'large.bin'), randomBytes(3_000_000))
  assert.throws(() => finish(folder), /at most 3000000 are allowed/)
})
