import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAll } from '../src/bulk.js'

const failing = (status) => Promise.reject(Object.assign(new Error(`HTTP ${status}`), { status }))
const rows = ['a', 'b', 'c', 'd', 'e']

/** The outcomes of a run, reduced to the names of the rows. */
async function outcomes(act, options) {
  const { done, failed, left } = await runAll(rows, act, options)
  return { done: done.join(''), failed: failed.map(({ row, error }) => row + error.status).join(), left: left.join('') }
}

test('a failure does not keep the other rows from their turn', async () => {
  const act = async (row) => (row === 'b' ? failing(409) : row === 'd' ? failing(500) : null)
  assert.deepEqual(await outcomes(act), { done: 'ace', failed: 'b409,d500', left: '' })
})

test('each row has one turn, in order, and no more are in flight than may be', async () => {
  for (const atOnce of [1, 2, 9]) {
    const turns = []
    const progress = []
    let flying = 0
    let most = 0
    const act = async (row) => {
      turns.push(row)
      most = Math.max(most, ++flying)
      await null
      flying--
    }
    const result = await outcomes(act, { atOnce, onProgress: (settled) => progress.push(settled) })
    assert.deepEqual(result, { done: 'abcde', failed: '', left: '' })
    assert.deepEqual([turns, progress, most], [rows, [1, 2, 3, 4, 5], Math.min(atOnce, rows.length)])
  }
})

test('the end of the session ends the run', async () => {
  const act = async (row) => (row === 'b' ? failing(401) : null)
  assert.deepEqual(await outcomes(act), { done: 'a', failed: 'b401', left: 'cde' })
})

test('a stopped run lets the requests in flight end, and starts no others', async () => {
  const controller = new AbortController()
  const act = async (row) => row === 'b' && controller.abort()
  assert.deepEqual(await outcomes(act, { signal: controller.signal }), { done: 'ab', failed: '', left: 'cde' })
  assert.deepEqual(await outcomes(act, { signal: controller.signal }), { done: '', failed: '', left: 'abcde' })
})
