import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { firstOf, locate } from '../src/palette/sources.js'

const original = globalThis.fetch
afterEach(() => {
  globalThis.fetch = original
})

/**
 * Fakes the admin API with a function of path and query that returns undefined for a 404. Returns the list of
 * requested paths.
 */
function serve(answer) {
  const asked = []
  globalThis.fetch = async (to) => {
    const url = new URL(to, 'http://gateway.example')
    asked.push(url.pathname.slice('/api/admin/'.length) + url.search)
    const body = answer(url.pathname.slice('/api/admin/'.length), url.searchParams)
    return Response.json(body ?? { error: 'Not found', code: 'not_found' }, { status: body ? 200 : 404 })
  }
  return asked
}

const { signal } = new AbortController()

/** A deployment with n projects on pages of 100. One of them has the violation vio_1. */
function deployment(n, owner) {
  return (path, query) => {
    if (path === 'projects') {
      const start = Number(query.get('after') || 0)
      const ids = Array.from({ length: Math.min(100, n - start) }, (_, i) => start + i)
      const next = start + 100 < n ? String(start + 100) : null
      return { projects: ids.map((i) => ({ id: `proj_${i}`, name: `Project ${i}` })), next }
    }
    const [, id, list] = path.split('/')
    if (!list) return { id, name: id.replace('proj_', 'Project ') }
    if (list === 'requests') return { requests: [], next: null }
    return id === `proj_${owner}` ? { id: 'vio_1' } : undefined
  }
}

test('short pages are read on until enough is found, and no longer', async () => {
  const pages = [
    { keys: [], next: 'a' },
    { keys: [1], next: 'b' },
    { keys: [2, 3], next: 'c' },
    { keys: [4], next: null },
  ]
  for (const [wanted, items, more, calls] of [
    [2, [1, 2], true, 3],
    [3, [1, 2, 3], true, 3],
    [9, [1, 2, 3, 4], false, 4],
  ]) {
    let i = 0
    const asked = serve(() => pages[i++])
    assert.deepEqual(await firstOf('keys', 'keys', { query: { q: 'x' }, wanted, signal }), { items, more })
    assert.equal(asked.length, calls)
    assert.deepEqual(asked.slice(0, 2), [`keys?q=x&limit=${wanted}`, `keys?q=x&limit=${wanted}&after=a`])
  }
})

const search = { kind: 'violation', id: 'vio_1', project: 'proj_3', everywhere: false, signal, progress: () => {} }

test('the project in view is looked in alone', async () => {
  const asked = serve(deployment(230, 3))
  const { hit } = await locate(search)
  assert.deepEqual([hit.project.name, hit.found.id], ['Project 3', 'vio_1'])
  assert.equal(asked.length, 2)
  serve(deployment(230, 4))
  assert.deepEqual(await locate(search), { hit: null, looked: 1, name: 'Project 3' })
  assert.deepEqual(await locate({ ...search, project: '' }), { hit: null, looked: 0, name: '' })
})

test('all projects are looked in, with progress, until there is a hit', async () => {
  const seen = []
  const everywhere = { ...search, everywhere: true, progress: (n) => seen.push(n) }
  serve(deployment(230, 999))
  assert.deepEqual(await locate(everywhere), { hit: null, looked: 230, name: '' })
  assert.deepEqual(
    seen,
    Array.from({ length: 230 }, (_, i) => i + 1),
  )
  const asked = serve(deployment(230, 120))
  assert.equal((await locate(everywhere)).hit.project.name, 'Project 120')
  assert.ok(asked.length < 130, `${asked.length} requests`)
})

test('a failure is not taken for "not there"', async () => {
  globalThis.fetch = async () => Response.json({ error: 'Service unavailable', code: 'unavailable' }, { status: 503 })
  await assert.rejects(locate(search), { status: 503 })
  await assert.rejects(locate({ ...search, everywhere: true }), { status: 503 })
})
