import assert from 'node:assert/strict'
import { test } from 'node:test'
import { match, safeNext, to } from '../src/router.js'

test('paths match pages', () => {
  assert.deepEqual(match('/dashboard'), { page: 'overview', params: {} })
  assert.deepEqual(match('/dashboard/'), { page: 'overview', params: {} })
  assert.deepEqual(match('/dashboard/projects'), { page: 'projects', params: {} })
  assert.deepEqual(match('/dashboard/projects/new'), { page: 'project-new', params: {} })
  assert.deepEqual(match('/dashboard/projects/proj_1'), { page: 'home', params: { project: 'proj_1' } })
  assert.deepEqual(match('/dashboard/projects/proj_1/keys/new'), { page: 'key-new', params: { project: 'proj_1' } })
  assert.deepEqual(match('/dashboard/projects/p%2F1/keys/k'), { page: 'key', params: { project: 'p/1', key: 'k' } })
  for (const path of [
    '/dashboardx',
    '/',
    '/dashboard/nothing',
    '/dashboard/projects/%',
    '/dashboard/projects/a/b/c/d',
  ]) {
    assert.equal(match(path).page, 'missing', path)
  }
})

test('a built path matches its page', () => {
  const path = to('projects', 'a/b?c#d', 'keys')
  assert.deepEqual(match(path), { page: 'keys', params: { project: 'a/b?c#d' } })
})

test('sign-in redirects only to dashboard pages', () => {
  for (const good of ['/dashboard', '/dashboard/audit?project=proj_1', '/dashboard/projects/proj_1/keys/key_2']) {
    assert.equal(safeNext(good), good)
  }
  const bad = [
    null,
    '',
    'https://evil.example/',
    '//evil.example',
    '/dashboard//evil.example',
    '/dashboardx',
    '/api/admin',
    'javascript:alert(1)',
    '/dashboard/\\evil',
  ]
  for (const next of bad) assert.equal(safeNext(next), '/dashboard', String(next))
})
