import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pieces } from './pieces.mjs'
import { findings, house } from './rules.mjs'

const piece = (text, kind = 'comment') => ({ kind, line: 1, text })
const advice = (text, kind, file = 'core/x.go') => findings(piece(text, kind), file).map((f) => f.advice)

for (const rule of house) {
  test(`house list: ${rule.match}`, () => {
    const file = rule.in?.includes('dashboard') ? 'control/web/src/x.js' : 'core/x.go'
    const kind = rule.in ? 'interface' : 'comment'
    assert.ok(advice(rule.bad, kind, file).includes(rule.instead), `misses "${rule.bad}"`)
    assert.ok(!advice(rule.good, kind, file).includes(rule.instead), `reports "${rule.good}"`)
  })
}

test('a phrase is found across a line break, on its line', () => {
  assert.deepEqual(
    findings({ kind: 'comment', line: 7, text: 'An error\nfor those\nwho look' }, 'x.go').map((f) => f.line),
    [8],
  )
})

test('documents and the interface have short sentences; comments may be longer', () => {
  const long = `${Array.from({ length: 33 }, (_, i) => `w${i}`).join(' ')}.`
  assert.match(advice(long, 'prose').join(), /33 words/)
  assert.match(advice(long, 'interface').join(), /33 words/)
  assert.deepEqual(advice(long, 'comment'), [])
  assert.deepEqual(advice(long.replace('w0 ', ''), 'prose'), [])
})

test('write-good reads documents', () => {
  assert.ok(advice('There\nare two keys.', 'prose').length > 0)
  assert.ok(advice('There are two keys.', 'prose').length > 0)
})

test('a question may begin with what', () => {
  assert.deepEqual(advice('What is a gateway key?', 'prose'), [])
})

const read = (file, text) => pieces(file, text).map((p) => [p.kind, p.line, p.text.trim()])

test('Go: comments and strings, not code, raw JSON or short names', () => {
  const source = [
    '// Package x is one.',
    '// Second line.',
    'var a = "must be a number" // after code',
    'var b, c = \'x\', "key"',
    'var d = `{"text":"not an error message"}`',
    'var e = "a // b is text"',
  ].join('\n')
  assert.deepEqual(read('core/x.go', source), [
    ['comment', 1, 'Package x is one.\n Second line.'],
    ['comment', 3, 'after code'],
    ['interface', 3, 'must be a number'],
    ['interface', 6, 'a // b is text'],
  ])
  assert.deepEqual(read('test/fakeprovider/x.go', 'var a = "may not be enabled" // why'), [['comment', 1, 'why']])
  assert.deepEqual(read('core/x_test.go', 'var a = "must be a number"'), [['comment', 1, 'must be a number']])
})

test('JavaScript: text between tags, attributes, templates in templates; no regular expressions', () => {
  const source = [
    'const r = /"not a string here"/g /* block */',
    'const t = html`<p title="Copy the key">Send $\u007bn > 1 ? `all $\u007bn} of them` : "just one of them"} now</p>`',
  ].join('\n')
  assert.deepEqual(read('control/web/src/x.js', source), [
    ['comment', 1, 'block'],
    ['interface', 2, 'all … of them'],
    ['interface', 2, 'just one of them'],
    ['interface', 2, 'Copy the key'],
    ['interface', 2, 'Send … now'],
  ])
})

test('Markdown: paragraphs without code and addresses', () => {
  const source = '# Title\n\nOne `x` [link](https://a.test).\n\n```sh\nwhoever\n```\n- item\n'
  assert.deepEqual(read('README.md', source), [
    ['prose', 1, '# Title'],
    ['prose', 3, 'One code [link].'],
    ['prose', 8, '- item'],
  ])
})

test('OpenAPI: descriptions in one line and in blocks', () => {
  const source = 'info:\n  title: Postern\n  description: |\n    First line\n    second.\npaths: {}\n'
  assert.deepEqual(read('docs/openapi.yaml', source), [
    ['prose', 2, 'Postern'],
    ['prose', 4, 'First line\n    second.'],
  ])
})

test('scripts, transcripts and the Makefile: comments', () => {
  assert.deepEqual(read('a.sh', '#!/bin/sh\nls # why\necho "two words here"\n'), [
    ['comment', 2, 'why'],
    ['interface', 3, 'two words here'],
  ])
  assert.deepEqual(read('testdata/conformance/a.txt', '# About\n\n== a title\nsend GET /\n'), [
    ['comment', 1, 'About'],
    ['comment', 3, 'a title'],
  ])
  assert.deepEqual(read('Makefile', 'dev: setup ## starts it\n'), [['comment', 1, 'starts it']])
})

test('the command fails on a finding and names file and line', () => {
  const dir = mkdtempSync(join(tmpdir(), 'words-'))
  try {
    execFileSync('git', ['init', '-q'], { cwd: dir })
    const main = fileURLToPath(new URL('main.mjs', import.meta.url))
    const run = () => spawnSync(process.execPath, [main], { cwd: dir, encoding: 'utf8' })
    writeFileSync(join(dir, 'a.md'), 'A key.\n')
    assert.equal(run().status, 0)
    writeFileSync(join(dir, 'b.md'), 'A key.\n\nWhoever calls.\n')
    const { status, stdout } = run()
    assert.equal(status, 1)
    assert.match(stdout, /^b\.md:3: "Whoever": /)
  } finally {
    rmSync(dir, { recursive: true })
  }
})
