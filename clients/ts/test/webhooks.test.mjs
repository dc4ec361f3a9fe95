// Webhook verification: the cases that all clients share (testdata/webhooks.json), and those specific to this client.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { ConfigurationError, PosternError, verifyWebhook, WebhookVerificationError } from '../dist/index.js'
import { at, failuresOfWebhook, webhookCases } from './webhook-cases.mjs'

const [delivery] = webhookCases
const { nowMs, body, headers, secrets } = delivery
const secret = secrets[0]

/** The headers of a delivery that is signed with `secret`. */
function signed(text, id = 'evt_1') {
  const seconds = String(nowMs / 1000)
  const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  const signature = `v1,${hmac.update(`${id}.${seconds}.`).update(text).digest('base64')}`
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature }
}

for (const given of webhookCases) {
  test(given.name, async () => {
    assert.deepEqual(await failuresOfWebhook(given, verifyWebhook), [], given.why)
  })
}

test('bytes, a Request and headers of Node.js are taken as they are', async () => {
  const bytes = new TextEncoder().encode(body)
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  await at(nowMs, async () => {
    for (const given of [body, bytes, bytes.buffer, Buffer.from(body), bytes.subarray(0)]) {
      assert.equal((await verifyWebhook(given, headers, { secret })).type, 'budget.threshold')
    }
    const request = new Request('https://app.test/hook', { method: 'POST', body, headers })
    assert.equal((await verifyWebhook(await request.text(), request.headers, { secret })).id, headers['webhook-id'])
    const foreign = { get: (name) => headers[name] } // of another library
    assert.equal((await verifyWebhook(body, foreign, { secret })).id, headers['webhook-id'])
    assert.equal((await verifyWebhook(body, { ...lists, host: undefined }, { secret })).id, headers['webhook-id'])
  })
})

test('the secret is that of the variable, of which there may be several', async () => {
  const other = 'whsec_AgMEBQYHCAkKCwwNDg8QERITFBUWFxgZ'
  await at(nowMs, async () => {
    for (const value of [secret, `${other} ${secret}`, `${other}, ${secret}`, `\n${secret}\n`]) {
      process.env.POSTERN_WEBHOOK_SECRET = value
      assert.equal((await verifyWebhook(body, headers)).type, 'budget.threshold')
      assert.equal((await verifyWebhook(body, headers, { secret: value })).type, 'budget.threshold')
    }
    process.env.POSTERN_WEBHOOK_SECRET = other
    await assert.rejects(verifyWebhook(body, headers), { code: 'invalid_signature' })
    assert.equal((await verifyWebhook(body, headers, { secret })).type, 'budget.threshold') // an option comes first
    delete process.env.POSTERN_WEBHOOK_SECRET
    await assert.rejects(verifyWebhook(body, headers), /^ConfigurationError: No secret: .*POSTERN_WEBHOOK_SECRET/)
  })
})

test('of many signatures, sixteen are compared', async () => {
  const right = headers['webhook-signature']
  const wrong = `v1,${Buffer.alloc(32).toString('base64')}`
  const given = (count) => ({ ...headers, 'webhook-signature': [...Array(count).fill(wrong), right].join(' ') })
  await at(nowMs, async () => {
    assert.equal((await verifyWebhook(body, given(15), { secret })).type, 'budget.threshold')
    await assert.rejects(verifyWebhook(body, given(16), { secret }), { code: 'invalid_signature' })
    const unknown = { ...headers, 'webhook-signature': `${'v2,AAAA '.repeat(50)}${right}` }
    assert.equal((await verifyWebhook(body, unknown, { secret })).type, 'budget.threshold')
  })
})

test('a body of 1 MiB is read, and a larger one is refused even if it is signed', async () => {
  const event = (length) => JSON.stringify({ type: 'new.thing', id: 'evt_1', data: { text: 'x'.repeat(length) } })
  const room = 1024 * 1024 - event(0).length
  await at(nowMs, async () => {
    assert.equal((await verifyWebhook(event(room), signed(event(room)), { secret })).type, 'new.thing')
    const large = event(room + 1)
    await assert.rejects(verifyWebhook(large, signed(large), { secret }), { code: 'invalid_payload' })
    const wide = event(Math.ceil(room / 2) + 1).replaceAll('x', 'ä') // fewer characters, but more bytes
    await assert.rejects(verifyWebhook(wide, signed(wide), { secret }), { code: 'invalid_payload' })
  })
})

test('arguments of another type are ConfigurationErrors', async () => {
  const given = [
    [{ type: 'budget.threshold' }, headers, { secret }],
    [undefined, headers, { secret }],
    [body, undefined, { secret }],
    [body, 'x: y', { secret }],
    [body, headers, { secret: 5 }],
    [body, headers, { secret: [] }],
    [body, headers, { secret, tolerance: 5 }],
    [body, headers, { secret, toleranceMs: -1 }],
    [body, headers, { secret, toleranceMs: Infinity }],
    [body, headers, secret],
    [body, headers, { secret: [secret, 'whsec_AAAA'] }],
  ]
  for (const args of given) await assert.rejects(verifyWebhook(...args), ConfigurationError, inspect(args))
})

test('the error is a PosternError, and plain JSON', async () => {
  const error = await verifyWebhook(body, {}, { secret }).catch((error) => error)
  assert.ok(error instanceof WebhookVerificationError && error instanceof PosternError)
  const message = 'The header webhook-id is missing'
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    name: 'WebhookVerificationError',
    message,
    code: 'missing_header',
  })
})

test('a header of an inherited name is missing', async () => {
  await assert.rejects(verifyWebhook(body, Object.create(headers), { secret }), { code: 'missing_header' })
})
