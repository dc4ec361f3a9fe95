// The table of behaviors (testdata/clients) against the built client.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Postern } from '../dist/index.js'
import { startServer } from './server.mjs'
import { allCases, failuresOf } from './table.mjs'

const server = await startServer()
const cases = allCases()

test('names are unique, and a case with a gap says why', () => {
  const names = cases.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { name, why, not, notWhy } of cases) assert.ok(why && (!not || notWhy), name)
})

// Most cases wait for a timeout, a pause that the server asks for, or a closed connection.
describe('cases', { concurrency: 5 }, () => {
  for (const given of cases) {
    test(given.name, async () => {
      assert.deepEqual(await failuresOf(given, { Postern, server }), [], given.why)
    })
  }
})
