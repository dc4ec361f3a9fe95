// Cleaning up wrangler's output.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cleaner } from '../../tools/dev/output.mjs'

const ERROR = '\u001b[31m✘ \u001b[41;31m[\u001b[41;97mERROR\u001b[41;31m]\u001b[0m \u001b[1m'

function clean(lines) {
  const cleaner = new Cleaner()
  return lines.map((line) => cleaner.clean(line)).filter((line) => line !== undefined)
}

test('log lines lose everything that wrangler adds', () => {
  assert.deepEqual(
    clean([
      '[undefined] {"status":200}',
      '\u001b[34m[postern-control]\u001b[39m {"status":201}',
      `${ERROR}{"status":502}\u001b[0m`,
      '',
      '',
      '[undefined] {"status":200}',
    ]),
    ['{"status":200}', '{"status":201}', '{"status":502}', '{"status":200}'],
  )
})

test('all other output of wrangler is unchanged', () => {
  const lines = [
    '[wrangler:info] GET / 200 OK (4ms)',
    `${ERROR}build failed\u001b[0m`,
    '',
    '⎔ Reloading local server...',
  ]
  assert.deepEqual(clean(lines), lines)
  assert.deepEqual(clean(['[undefined] a note']), ['a note'])
})
