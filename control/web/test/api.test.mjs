import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, errorOf, path, queryOf } from '../src/api.js'

test('queries omit unset values', () => {
  assert.equal(queryOf(), '')
  assert.equal(queryOf({ q: '', after: null, limit: undefined }), '')
  assert.equal(queryOf({ q: 'a&b', limit: 0 }), '?q=a%26b&limit=0')
})

test('path values are escaped', () => {
  assert.equal(path`projects/${'a/../b'}/keys/${'k?'}`, 'projects/a%2F..%2Fb/keys/k%3F')
  assert.equal(path`projects/${'p'}`, 'projects/p')
})

test('errors in Postern’s shape, in OpenAI’s shape, and without JSON', async () => {
  const errorFor = (status, body, headers) => errorOf(new Response(body, { status, headers }))
  const details = [{ field: 'name', message: 'is required' }]
  const flat = await errorFor(
    400,
    JSON.stringify({ error: 'Invalid request', code: 'invalid_request', requestId: 'req_1', details }),
  )
  assert.ok(flat instanceof ApiError)
  assert.deepEqual(
    [flat.message, flat.code, flat.requestId, flat.details],
    ['Invalid request', 'invalid_request', 'req_1', details],
  )
  const nested = await errorFor(
    429,
    JSON.stringify({ error: { message: 'Slow down', type: 'rate_limit_error', code: null } }),
    { 'retry-after': '7' },
  )
  assert.deepEqual([nested.message, nested.code, nested.retryAfter], ['Slow down', 'rate_limit_error', 7])
  assert.equal(flat.documented, false)
  const linked = await errorFor(401, '{}', { link: '</docs/reference/errors/#missing_api_key>; rel="help"' })
  assert.equal(linked.documented, true)
  const plain = await errorFor(502, '<html>')
  assert.deepEqual([plain.message, plain.code, plain.retryAfter, plain.details], ['HTTP 502', 'status_502', null, []])
})
