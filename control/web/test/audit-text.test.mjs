import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionText, changesOf } from '../src/audit-text.js'

test('known actions have a text; unknown ones are shown unchanged', () => {
  assert.equal(actionText('key.rotate'), 'rotated a key')
  assert.equal(actionText('model.add'), 'model.add')
})

test('changed fields have their values before and after', () => {
  const before = { budget: 50, models: ['cheap', 'gpt-4.1'], alerts: null, version: 1 }
  const after = { budget: 100.5, models: [], routes: { cheap: { strategy: 'ordered' } }, version: 2 }
  assert.deepEqual(changesOf({ before, after }), [
    { field: 'alerts', before: 'none', after: null },
    { field: 'budget', before: '$50.00', after: '$100.50' },
    { field: 'models', before: 'cheap, gpt-4.1', after: 'none' },
    { field: 'routes', before: null, after: '{cheap {strategy ordered}}' },
  ])
  assert.deepEqual(changesOf({ before: null, after: null }), [])
})

test('empty fields of created and deleted records are omitted', () => {
  const after = { id: 'key_1', name: 'Backend', models: [], lastUsedAt: null, createdAt: '2026-11-21T07:00:00.000Z' }
  assert.deepEqual(changesOf({ before: null, after }), [{ field: 'name', before: null, after: 'Backend' }])
  assert.deepEqual(changesOf({ before: after, after: null }), [{ field: 'name', before: 'Backend', after: null }])
})

test('only the changed members of an object are listed', () => {
  const before = { limits: { requestsPerDay: null, requestsPerSecond: 5 } }
  const after = { limits: { requestsPerDay: 1000, requestsPerSecond: 5 } }
  assert.deepEqual(changesOf({ before, after }), [{ field: 'limits.requestsPerDay', before: 'none', after: '1000' }])
})
