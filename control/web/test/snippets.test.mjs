import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { curl, exportLine, shellQuoted, snippetsFor } from '../src/snippets.js'

const ORIGIN = 'https://postern.example.com'
const HOSTILE = `it's "$HOME" \`id\` $(id) \\ !! # ; & | > < * ? ~ \n second line`

/** The words of a command, as a shell parses them. */
function words(command) {
  const program = 'for word in "$@"; do printf "%s\\0" "$word"; done'
  const script = command.replace(/^curl/, `sh -c '${program}' sh`)
  const env = { ...process.env, POSTERN_API_KEY: 'sk_test_1' }
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1)
}

test('a plain word is not quoted', () => {
  assert.equal(shellQuoted('https://a.example/v1?x=1'), "'https://a.example/v1?x=1'")
  assert.equal(shellQuoted('https://a.example/v1'), 'https://a.example/v1')
  assert.equal(shellQuoted(''), "''")
  assert.equal(shellQuoted("it's"), "'it'\\''s'")
})

test('a shell passes the body on unchanged and substitutes only the key', () => {
  const body = { messages: [{ role: 'user', content: HOSTILE }] }
  const args = words(curl(`${ORIGIN}/api/ai/chat`, body, true))
  assert.deepEqual(args.slice(0, 4), ['-N', `${ORIGIN}/api/ai/chat`, '-H', 'X-API-Key: sk_test_1'])
  assert.deepEqual(args.slice(4, 7), ['-H', 'Content-Type: application/json', '-d'])
  assert.deepEqual(JSON.parse(args[7]), body)
})

test('the key appears only in the export line', () => {
  const value = 'sk_live_0123456789abcdef'
  const snippets = snippetsFor(ORIGIN, 'proj_1', { kind: 'gateway', value })
  assert.deepEqual(
    snippets.map(({ title }) => title),
    ['curl', 'OpenAI SDK', 'Anthropic SDK', 'fetch'],
  )
  const all = snippets.map(({ text }) => text).join('\n')
  assert.equal(all.split(value).length, 2)
  assert.ok(all.includes(exportLine(value)))
  for (const { text } of snippets) assert.ok(text.includes(ORIGIN))
})

test('the snippet of a project key gets the usage report', () => {
  const [only, ...rest] = snippetsFor(ORIGIN, 'proj_1', { kind: 'project', value: 'pk_live_1' })
  assert.equal(rest.length, 0)
  assert.match(only.text, /\/api\/usage\?projectId=proj_1'/)
})
