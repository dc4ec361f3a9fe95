// Compares the client's knowledge of the gateway's errors with testdata/faults.json, the gateway's error table.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { mayRepeat } from '../dist/retry.js'

const faults = JSON.parse(readFileSync(new URL('../../../testdata/faults.json', import.meta.url), 'utf8'))

test('every error of the gateway is retried as its row says', () => {
  for (const { code, status, place, retry } of faults) {
    if (place === 'admin' || place === 'log') continue
    const headers = new Headers(retry === 'never' ? { 'x-should-retry': 'false' } : {})
    assert.equal(mayRepeat({ status, headers }, true), retry === 'yes', `${status} ${code}`)
  }
})

// The handlers' response if a page’s user is not signed in.
const OWN = ['401 unauthorized']

test('every status and code that the source has is one of a row', () => {
  const rows = new Set(faults.map(({ code, status }) => `${status} ${code}`))
  const source = new URL('../src/', import.meta.url)
  const found = []
  for (const name of readdirSync(source)) {
    const text = readFileSync(new URL(name, source), 'utf8')
    found.push(...[...text.matchAll(/new Rejection\((\d+), '(\w+)'/g)].map(([, status, code]) => `${status} ${code}`))
    found.push(
      ...[...text.matchAll(/status [!=]== (\d+) (?:&&|\|\|) code [!=]== '(\w+)'/g)].map(
        ([, status, code]) => `${status} ${code}`,
      ),
    )
  }
  assert.ok(found.includes('422 blocked_by_policy') && found.includes('403 insufficient_permissions'), found.join())
  for (const row of found) assert.ok(rows.has(row) || OWN.includes(row), `${row} is not in the error table`)
})
