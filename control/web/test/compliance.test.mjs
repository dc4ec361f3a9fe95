import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportHref, fileName, nextOf } from '../src/compliance.js'
import * as registry from '../src/registry.js'
import { permissionsOf } from '../src/values.js'
import { startOf, transitionsOf } from '../src/violations.js'

test('an export’s period includes its last day', () => {
  const chosen = { type: 'audit', from: '2026-11-01', to: '2026-11-30', format: '' }
  assert.equal(
    exportHref('proj_1', chosen),
    '/api/admin/projects/proj_1/compliance/export?type=audit&from=2026-11-01&to=2026-12-01',
  )
  assert.equal(fileName({ id: 'proj_1' }, chosen), 'proj_1-audit-2026-11-01_to_2026-11-30.ndjson')
  const all = { type: 'inventory', from: '', to: '', format: 'cyclonedx' }
  assert.equal(
    exportHref('proj_1', all),
    '/api/admin/projects/proj_1/compliance/export?type=inventory&format=cyclonedx',
  )
  assert.equal(fileName({ id: 'proj_1' }, all), 'proj_1-inventory.cdx.json')
})

test('nextOf reads the Link header', () => {
  assert.equal(nextOf('</api/x?after=1>; rel="next"'), '/api/x?after=1')
  for (const none of [null, undefined, '', '</api/x>; rel="prev"']) assert.equal(nextOf(none), null)
})

test('a date filter covers whole days in UTC', () => {
  assert.equal(startOf('2026-11-01'), '2026-11-01T00:00:00.000Z')
  assert.equal(startOf('2026-11-30', 1), '2026-12-01T00:00:00.000Z')
  assert.equal(startOf(''), '')
})

test('every state of a violation leads to others', () => {
  assert.deepEqual(
    transitionsOf('open').map(([, verb]) => verb),
    ['Acknowledge', 'Resolve', 'Mark as false positive'],
  )
  assert.deepEqual(transitionsOf('resolved'), [['open', 'Reopen']])
  assert.deepEqual(transitionsOf('unheard of'), [])
})

test('a registry record survives the form', () => {
  const entry = {
    owner: 'Platform team',
    purpose: null,
    riskTier: 'limited',
    dataClasses: ['public', 'internal'],
    regions: [],
    retention: null,
    links: ['https://example.com/card'],
    reviewDate: '2027-01-31',
    sunsetAt: null,
    successor: null,
  }
  assert.deepEqual(registry.fieldsOf(registry.draftOf(entry)), entry)
  for (const state of registry.STATES) {
    assert.ok(
      registry.transitionsOf(state).every(([next, verb]) => registry.STATES.includes(next) && verb),
      state,
    )
  }
})

test('keys get the permissions of their kind', () => {
  const names = (kind) => permissionsOf(kind).map(([name]) => name)
  assert.deepEqual(names('gateway'), ['completions', 'embeddings', 'models', 'usage', 'validate'])
  assert.deepEqual(names('project'), [
    'models',
    'usage',
    'violations',
    'triage',
    'registry',
    'registry.edit',
    'compliance',
  ])
})
