// Rounds of load: a peer's errors are counted, and any other server's errors end the run.
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { errorNote, load, ratio } from '../lib/load.mjs'

const options = { key: 'none', mode: 'unique', round: 'test', seconds: 1, attempts: 1 }

/** A round with a fake wrk that prints a result. */
async function round(t, result, more = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'wrk-'))
  const path = process.env.PATH
  t.after(() => {
    process.env.PATH = path
    rmSync(folder, { recursive: true })
  })
  writeFileSync(join(folder, 'wrk'), `#!/bin/sh\necho 'Running 1s test'\necho '${JSON.stringify(result)}'\n`)
  chmodSync(join(folder, 'wrk'), 0o755)
  process.env.PATH = folder + delimiter + path
  return load('http://127.0.0.1:1', { pid: process.pid }, { ...options, ...more })
}

const clean = { requests: 400, seconds: 2, errors: 0, failed: 0, p50ms: 1, p99ms: 2 }
const flawed = { ...clean, errors: 3, failed: 1 }

test('a response with an error status of a peer is a figure', async (t) => {
  const result = await round(t, flawed, { peer: true })
  assert.equal(result.perSecond, 199.5)
  assert.equal(errorNote('peer', [result, result]), 'peer: 6 errors, 800 responses')
})

test('an error of any other server ends the run', async (t) => {
  await assert.rejects(round(t, flawed), /3 errors/)
})

test('a round without a response ends the run', async (t) => {
  await assert.rejects(round(t, { ...clean, requests: 0, errors: 9 }, { peer: true }), /9 errors/)
})

test('a round without errors has no note', async (t) => {
  const result = await round(t, clean)
  assert.equal(result.perSecond, 200)
  assert.equal(errorNote('peer', [result]), '')
})

test('a peer that fails throughout a round has no ratio', async (t) => {
  const ours = await round(t, clean)
  const theirs = await round(t, { ...clean, errors: 400, failed: 400 }, { peer: true })
  assert.equal(
    ratio([ours], [ours], (r) => r.perSecond),
    1,
  )
  assert.equal(
    ratio([ours, ours], [ours, theirs], (r) => r.perSecond),
    '–',
  )
})
