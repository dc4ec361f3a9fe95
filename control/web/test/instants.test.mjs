import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputValueOf, instantOf } from '../src/instants.js'

test('times in URLs become times of the API and values of inputs', () => {
  for (const [text, days, instant, value] of [
    ['2026-11-21T09:30', 0, '2026-11-21T09:30:00.000Z', '2026-11-21T09:30'],
    ['2026-11-21T09:30:15', 0, '2026-11-21T09:30:15.000Z', '2026-11-21T09:30:15'],
    ['2026-11-21T09:30:15.250Z', 0, '2026-11-21T09:30:15.250Z', '2026-11-21T09:30:15.250'],
    ['2026-11-21T09:30:15Z', 0, '2026-11-21T09:30:15.000Z', '2026-11-21T09:30:15'],
    ['2026-11-21T09:30:00Z', 1, '2026-11-21T09:30:00.000Z', '2026-11-21T09:30'],
    ['2026-11-21T10:30:00+01:00', 0, '2026-11-21T09:30:00.000Z', '2026-11-21T09:30'],
    ['2026-11-21', 0, '2026-11-21T00:00:00.000Z', '2026-11-21T00:00'],
    ['2026-11-21', 1, '2026-11-22T00:00:00.000Z', '2026-11-22T00:00'],
    ['0202-11-21T09:30', 0, '', '0202-11-21T09:30'],
    ['yesterday', 0, '', ''],
    ['', 1, '', ''],
  ]) {
    assert.deepEqual([instantOf(text, days), inputValueOf(text, days)], [instant, value], text)
  }
})
