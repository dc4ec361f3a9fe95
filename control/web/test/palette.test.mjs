import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { KEY_LENGTH, matchesWords, readQuery, wholeKey } from '../src/palette/query.js'

const digits = 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4o'
const keys = ['sk_live_', 'sk_test_', 'pk_live_', 'pk_test_'].map((prefix) => prefix + digits)

test('a whole key is found in the text around it', () => {
  for (const key of keys) {
    assert.equal(key.length, KEY_LENGTH)
    const want = {
      hash: createHash('sha256').update(key).digest('hex'),
      masked: `${key.slice(0, 8)}…3n4o`,
    }
    for (const text of [
      key,
      ` ${key}\n`,
      `Authorization: Bearer ${key}`,
      `KEY="${key}"`,
      `KEY=${key};`,
      `x=1&key=${key}&y`,
    ]) {
      assert.deepEqual(wholeKey(text), want, text)
    }
  }
})

test('other texts are no whole keys, and parts of keys are secret', () => {
  const [key] = keys
  for (const text of [
    key.slice(0, -1),
    `${key}0`,
    key.slice(0, 14),
    'sk-proj-0123456789',
    'Bearer sk-ant-api03-xyz',
    `a ${key.slice(0, -2)} b`,
  ]) {
    assert.equal(wholeKey(text), null, text)
    assert.deepEqual(readQuery(text), { kind: 'secret', text: '' }, text)
  }
  for (const text of [`x${key}`, key.toUpperCase(), key.replace('live', 'beta')])
    assert.equal(wholeKey(text), null, text)
})

test('texts, IDs and masked keys', () => {
  const hex = '0123456789abcdef0123456789abcdef'
  for (const [text, want] of [
    ['', { kind: 'nothing', text: '' }],
    ['  \t', { kind: 'nothing', text: '' }],
    [' backend ', { kind: 'text', text: 'backend' }],
    ['desk_lamp', { kind: 'text', text: 'desk_lamp' }],
    ['sk', { kind: 'text', text: 'sk' }],
    ['task-manager', { kind: 'text', text: 'task-manager' }],
    ['sk_live_…a1B2', { kind: 'text', text: 'a1B2' }],
    ['pk_test_...a1B2', { kind: 'text', text: 'a1B2' }],
    [`proj_${hex}`, { kind: 'project', text: `proj_${hex}` }],
    [`vio_${hex}`, { kind: 'violation', text: `vio_${hex}` }],
    [`req_${hex} `, { kind: 'request', text: `req_${hex}` }],
    [`req_${hex.toUpperCase()}`, { kind: 'text', text: `req_${hex.toUpperCase()}` }],
    [`key_${hex}`, { kind: 'text', text: `key_${hex}` }],
    ['proj_../keys', { kind: 'text', text: 'proj_../keys' }],
  ]) {
    assert.deepEqual(readQuery(text), want, text)
  }
})

test('all words must be in a label', () => {
  assert.ok(matchesWords('Model registry', 'reg MOD'))
  assert.ok(!matchesWords('Model registry', 'reg keys'))
  assert.ok(matchesWords('Model registry', ''))
})
