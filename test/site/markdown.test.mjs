// Checks how Markdown written for a code host is converted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOf } from '../../site/markdown.mjs'
import { documents } from '../../site/sources.mjs'

const all = documents()
const page = (text) => pageOf('docs/guides/caching.md', `# The \`title\`\n\n${text}\n`, all)

/** The page without its head. */
const body = (text) =>
  page(text)
    .replace(/^---\n.*\n---\n/, '')
    .trim()

test('the title becomes the head of the page', () => {
  assert.match(page('Text.'), /^---\ntitle: "The title"\n---\n\n\nText\.\n$/)
})

const LINKS = [
  ['a document', '[limits](limits-and-budgets.md#where)', '[limits](/docs/guides/limits-and-budgets/#where)'],
  ['a document by its name', '[errors.md](../reference/errors.md)', '[Errors](/docs/reference/errors/)'],
  ['a folder with an index', '[agents](../agents)', '[agents](/docs/agents/)'],
  ['the index', '[all](../README.md)', '[all](/docs/)'],
  ['a page outside of docs/', '[why](../../RATIONALE.md)', '[why](/docs/project/decisions/)'],
  ['the description of the API', '[API](../openapi.yaml)', '[API](/docs/reference/api/)'],
  [
    'the description of the API by its name',
    '[openapi.yaml](../openapi.yaml)',
    '[API reference](/docs/reference/api/)',
  ],
  ['a source file', '[the table](../../core/fault/table.go)', 'the table (`core/fault/table.go`)'],
  ['a source file by its name', '[`core/fault`](../../core/fault)', '`core/fault`'],
  ['the name of the Go module', '[source](https://github.com/postern-ai/postern)', 'source'],
  ['another site', '[RFC](https://www.rfc-editor.org/rfc/rfc9745)', '[RFC](https://www.rfc-editor.org/rfc/rfc9745)'],
  ['a place in the same document', '[below](#leases)', '[below](#leases)'],
  ['an example in code', '`[a](b.md)`', '`[a](b.md)`'],
  ['an image', '![Costs](../overview.png)', '![Costs](/docs/overview.png)'],
]

for (const [what, markdown, expected] of LINKS) {
  test(`a link to ${what}`, () => assert.equal(body(`See ${markdown}.`), `See ${expected}.`))
}

test('what leads nowhere is an error that names the document', () => {
  for (const text of ['[a](gone.md)', '![a](gone.png)', '[a](../../core/gone.go)', '[a][b]\n\n[b]: ../README.md']) {
    assert.throws(() => page(text), /^Error: docs\/guides\/caching\.md: /, text)
  }
})

const block = (language, code) => `\`\`\`${language}\n${code}\n\`\`\``
const labels = (html) => [...html.matchAll(/role="tab"[^>]*>([^<]*)</g)].map((match) => match[1])

test('code in several languages becomes tabs, in its order', () => {
  const html = body([block('ts', 'a'), block('python', 'b'), block('go', 'c'), block('sh', 'curl d')].join('\n\n'))
  assert.deepEqual(labels(html), ['TypeScript', 'Python', 'Go', 'curl'])
  assert.equal(html.match(/role="tabpanel"/g).length, 4)
  assert.equal(html.match(/<div/g).length, html.match(/<\/div>/g).length)
  assert.match(html, /aria-selected="true">TypeScript</)
})

test('other code stays as it is', () => {
  const ones = [
    [block('sh', 'pip install postern'), block('python', 'b')],
    [block('sh', 'curl a'), block('json', '{}')],
    [block('python', 'a'), 'Then:', block('go', 'b')],
    [block('python', 'a'), block('python', 'b')],
  ]
  for (const blocks of ones) assert.equal(body(blocks.join('\n\n')), blocks.join('\n\n'))
})
