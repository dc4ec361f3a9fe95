// Compares the dashboard's lists of error codes with the gateway's error table in testdata/faults.json.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { adviceFor } from '../src/chat.js'

const faults = JSON.parse(readFileSync(new URL('../../../testdata/faults.json', import.meta.url), 'utf8'))
const codes = new Set(faults.map(({ code }) => code))

// Codes for which the playground has only general advice. There are three reasons: the playground cannot cause them,
// it shows their details, or the general advice is right.
const GENERAL = [
  'not_found', // the playground does not send a path or ID from the user
  'method_not_allowed',
  'websocket_not_supported',
  'request_too_large', // the details name the maximum
  'unsupported_media_type',
  'blocked_by_policy', // the details name the rules
  'idempotency_in_progress', // the playground does not send an Idempotency-Key
  'idempotency_outcome_unknown',
  'idempotency_not_replayable',
  'idempotency_key_reused',
  'internal_error', // "try again"
  'misconfigured',
  'service_unavailable',
  'shutting_down',
]

test('every error of the gateway has advice in the playground', () => {
  const general = adviceFor({ code: 'unheard_of', status: 500 })
  const targets = adviceFor({ code: 'unheard_of', status: 502 })
  for (const { code, status, place, origin } of faults) {
    if (place === 'admin' || place === 'log') continue
    const advice = adviceFor({ code, status })
    if (origin === 'provider' && advice === targets) continue
    const isGeneral = advice === general || advice === targets
    const where = 'see ADVICE in control/web/src/chat.js and GENERAL in this test'
    assert.equal(isGeneral, GENERAL.includes(code), `${code}: ${where}`)
  }
  for (const code of GENERAL) assert.ok(codes.has(code), `GENERAL: ${code} is not in the error table`)
})

// Codes that only the dashboard uses.
const OWN = ['not_a_key', 'masked_key', 'stream_broken']

test('the dashboard knows no error code that does not exist', () => {
  const source = new URL('../src/', import.meta.url)
  const chat = readFileSync(new URL('chat.js', source), 'utf8')
  const table = /^const ADVICE = \{$(.*?)^\}$/ms.exec(chat)[1]
  const known = [...table.matchAll(/^ {2}(\w+):/gm)].map(([, code]) => code)
  assert.ok(known.length > 10, 'ADVICE was not found')
  for (const name of readdirSync(source, { recursive: true }).filter((file) => file.endsWith('.js'))) {
    const text = readFileSync(new URL(name, source), 'utf8')
    known.push(...[...text.matchAll(/error\??\.code === '(\w+)'/g)].map(([, code]) => code))
  }
  for (const code of known) assert.ok(codes.has(code) || OWN.includes(code), `${code} is not in the error table`)
})
