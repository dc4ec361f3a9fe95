import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryOf, hrefOf, modelHref, piecesOf } from '../src/ids.js'

const HEX = '019aa4b0c1d3fedcba98765432100123'

test('an ID leads to the page of what it names', () => {
  for (const [id, page] of [
    ['proj_1', 'projects/proj_1'],
    ['key_1', 'projects/p/keys/key_1'],
    ['vio_1', 'projects/p/violations/vio_1'],
    ['mod_1', 'projects/p/registry/mod_1'],
    ['req_1', 'projects/p/requests/req_1'],
  ]) {
    assert.equal(hrefOf(id, 'p'), `/dashboard/${page}`)
    assert.equal(hrefOf(id), id === 'proj_1' ? `/dashboard/${page}` : undefined)
  }
  for (const other of ['aud_1', 'owner', '', 'constructor_1', '__proto___1'])
    assert.equal(hrefOf(other, 'p'), undefined)
})

test('a text is cut around IDs, and not around words that look like one', () => {
  assert.deepEqual(piecesOf(`of key_${HEX}, proj_${HEX}.`), ['of ', `key_${HEX}`, ', ', `proj_${HEX}`, '.'])
  for (const text of ['key_prod', `monkey_${HEX}`, `key_${HEX}_old`, `key_${HEX}0`, 'vio_'])
    assert.deepEqual(piecesOf(text), [text])
})

test('a model leads to its entry and to the models page', () => {
  assert.equal(entryOf('gpt-4.1'), 'mod_5c51a66b0aff2f609fae358c') // the example in docs/openapi.yaml
  assert.equal(modelHref('a/b c'), '/dashboard/models?q=a%2Fb%20c')
})
