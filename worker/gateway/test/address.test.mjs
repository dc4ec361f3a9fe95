import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withAddress } from '../../control/address.mjs'

const sent = (headers) =>
  new Request('https://admin.example/api/admin/session', { headers, method: 'POST', body: '{}' })

test('the address of a request is the one that Cloudflare names, whatever the caller sends', async () => {
  for (const [headers, want] of [
    [{ 'cf-connecting-ip': '192.0.2.1' }, '192.0.2.1'],
    [{ 'cf-connecting-ip': '192.0.2.1', 'x-postern-address': '198.51.100.7' }, '192.0.2.1'],
    [{ 'cf-connecting-ip': '192.0.2.1', 'x-postern-address': '' }, '192.0.2.1'],
    [{ 'x-postern-address': '198.51.100.7' }, null],
    [{}, null],
  ]) {
    const got = withAddress(sent({ ...headers, 'x-kept': 'kept' }))
    assert.equal(got.headers.get('x-postern-address'), want)
    assert.equal(got.headers.get('x-kept'), 'kept')
    assert.equal(got.method, 'POST')
    assert.equal(await got.text(), '{}')
  }
})

test('a request that the gateway has forwarded is not copied', () => {
  const request = sent({ 'cf-connecting-ip': '192.0.2.1', 'x-postern-address': '192.0.2.1' })
  assert.equal(withAddress(request), request)
})
