// Streams that break.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostern, PosternStreamError } from '@postern-ai/ai-sdk'
import { streamText } from 'ai'

const headers = { 'x-request-id': 'req_1', 'content-type': 'text/event-stream' }
const piece = { id: 'c', model: 'gpt-5.4', choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] }
const event = `data: ${JSON.stringify(piece)}\n\n`

/** The error of a stream. In the AI SDK's pipes, the error of a broken connection may overtake earlier text. */
async function errorOf(answer) {
  const postern = createPostern({ apiKey: 'sk_test_a', baseURL: 'http://gateway.test', fetch: async () => answer() })
  const errors = []
  const result = streamText({ model: postern('gpt-5.4'), prompt: 'x', onError: ({ error }) => errors.push(error) })
  await result.consumeStream()
  assert.equal(errors.length, 1)
  assert.ok(errors[0] instanceof PosternStreamError, String(errors[0]))
  assert.equal(errors[0].requestId, 'req_1')
  return errors[0]
}

test('a connection that breaks within a stream', async () => {
  const cut = () => {
    const bytes = [new TextEncoder().encode(event)]
    const pull = (controller) => {
      const next = bytes.pop()
      if (next) controller.enqueue(next)
      else controller.error(new TypeError('terminated'))
    }
    return new Response(new ReadableStream({ pull }), { headers })
  }
  const error = await errorOf(cut)
  assert.equal(error.code, 'connection_lost')
  assert.match(String([error.cause, error.cause.cause]), /TypeError: terminated/)
})

test('an event that breaks off', async () => {
  const error = await errorOf(() => new Response(`${event}data: {"id":\n\n`, { headers }))
  assert.equal(error.code, 'invalid_event')
})
