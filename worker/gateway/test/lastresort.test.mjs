// Checks the Workers' responses when their wasm modules do not run. They must be the same as in
// testdata/abi/lastresort.json. The core's tests write this file from the core's fault table.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { unavailable } from '../../control/unavailable.mjs'
import { serve } from '../src/host.ts'
import { Isolate } from '../src/isolate.ts'

const rows = JSON.parse(readFileSync(new URL('../../../testdata/abi/lastresort.json', import.meta.url), 'utf8'))
const id = `req_${'0123456789abcdef'.repeat(2)}`

// Missing in Node 22.
Uint8Array.prototype.toHex ??= function toHex() {
  return Buffer.from(this).toString('hex')
}

// Returns a response in the form of lastresort.json.
async function received(response, requestId) {
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'x-request-id'))
  const body = (await response.text()).split(requestId)
  return { status: response.status, headers, body }
}

test('gateway: the core cannot be configured', async () => {
  let logged = ''
  console.error = (line) => {
    logged += line
  }
  const engine = {
    start: () => {
      throw new Error('secret')
    },
  }
  const isolate = new Isolate(engine)
  const response = await serve(isolate, new Request('http://gateway.example/'), {}, {})
  const requestId = response.headers.get('x-request-id')
  assert.match(requestId, /^req_[0-9a-f]{32}$/)
  assert.deepEqual(await received(response, requestId), rows.internal)
  assert.match(logged, /configure_failed/)
  assert.doesNotMatch(logged, /secret/)
})

test('control plane: the program does not run', async () => {
  for (const [given, kept] of [
    [id, true],
    [`${id}x`, false],
    ['', false],
  ]) {
    const request = new Request('http://gateway.example/', { headers: { 'x-request-id': given } })
    const response = unavailable(request)
    const requestId = response.headers.get('x-request-id')
    assert.match(requestId, /^req_[0-9a-f]{32}$/)
    assert.equal(requestId === given, kept)
    const got = await received(response, requestId)
    assert.equal(got.headers['retry-after'], '2')
    delete got.headers['retry-after']
    assert.deepEqual(got, rows.unavailable)
  }
})
