import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, errorOf, path, queryOf } from '../src/api.js'

test('queries leave out what is not set', () => {
  assert.equal(queryOf(), '')
  assert.equal(queryOf({ q: '', after: null, limit: undefined }), '')
  assert.equal(queryOf({ q: 'a&b', limit: 0 }), '?q=a%26b&limit=0')
})

test('paths keep to their segments', () => {
  assert.equal(path`projects/${'a/../b'}/keys/${'k?'}`, 'projects/a%2F..%2Fb/keys/k%3F')
  assert.equal(path`projects/${'p'}`, 'projects/p')
})

test('refusals in our shape, in OpenAI’s, and in none', async () => {
  const refusal = (status, body, headers) => errorOf(new Response(body, { status, headers }))
  const details = [{ field: 'name', message: 'is required' }]
  const ours = await refusal(
    400,
    JSON.stringify({ error: 'Invalid request', code: 'invalid_request', requestId: 'req_1', details }),
  )
  assert.ok(ours instanceof ApiError)
  assert.deepEqual(
    [ours.message, ours.code, ours.requestId, ours.details],
    ['Invalid request', 'invalid_request', 'req_1', details],
  )
  const theirs = await refusal(
    429,
    JSON.stringify({ error: { message: 'Slow down', type: 'rate_limit_error', code: null } }),
    { 'retry-after': '7' },
  )
  assert.deepEqual([theirs.message, theirs.code, theirs.retryAfter], ['Slow down', 'rate_limit_error', 7])
  const none = await refusal(502, '<html>')
  assert.deepEqual([none.message, none.code, none.retryAfter, none.details], ['Answer 502', 'status_502', null, []])
})
