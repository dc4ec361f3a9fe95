// What each way of calling a model throws when a connection breaks or a stream fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIConnectionError, InvalidResponseError, StreamError } from '@postern-ai/client'
import { ChatPostern, PosternEmbeddings } from '@postern-ai/langchain'
import { z } from 'zod'
import { breaking, COMPLETE, FAILED, POINTS, streaming, WAYS } from '../../../test/clients/cut.mjs'

const AT_END = ['after the finish reason', 'before [DONE]']
const schema = z.object({ city: z.string() })
const chat = (fields) => new ChatPostern({ model: 'm', apiKey: 'sk_test_a', maxRetries: 0, ...fields })
const structured = (fields) => chat(fields).withStructuredOutput(schema)

async function read(stream) {
  const all = []
  for await (const one of await stream) all.push(one)
  return all
}

const WHOLE = {
  invoke: (fields) => chat(fields).invoke('x'),
  'withStructuredOutput, invoke': (fields) => structured(fields).invoke('x'),
  embedQuery: (fields) => new PosternEmbeddings({ ...fields, model: 'm', apiKey: 'k', maxRetries: 0 }).embedQuery('x'),
}
const STREAMS = {
  stream: (fields) => read(chat(fields).stream('x')),
  'invoke with streaming': (fields) => chat({ ...fields, streaming: true }).invoke('x'),
  streamEvents: (fields) => read(chat(fields).streamEvents('x', { version: 'v2' })),
  'withStructuredOutput, stream': (fields) => read(structured(fields).stream('x')),
}

for (const point of Object.keys(POINTS)) {
  for (const way of Object.keys(WAYS)) {
    const early = point === 'before the headers'
    const lost = early || way !== 'ended'

    for (const [name, call] of Object.entries(WHOLE)) {
      test(`${way} ${point}: ${name}`, async (t) => {
        const { url: baseURL, fetch } = await breaking(t, point, way)
        await assert.rejects(call({ baseURL, fetch }), (error) => {
          assert.ok(error instanceof (lost ? APIConnectionError : InvalidResponseError), String(error))
          if (!lost && name !== 'embedQuery') assert.equal(error.requestId, 'req_1')
          return true
        })
      })
    }

    for (const [name, call] of Object.entries(STREAMS)) {
      test(`${way} ${point}: ${name}`, async (t) => {
        const printed = t.mock.method(console, 'error', () => {})
        const { url: baseURL, fetch } = await breaking(t, point, way)
        if (way === 'ended' && AT_END.includes(point)) return void (await call({ baseURL, fetch }))
        const partial = way === 'ended' && point === 'within an event'
        const code = lost ? 'connection_lost' : partial ? 'invalid_event' : 'incomplete_stream'
        await assert.rejects(call({ baseURL, fetch }), (error) => {
          assert.ok(error instanceof (early ? APIConnectionError : StreamError), String(error))
          if (!early) assert.deepEqual([error.code, error.requestId], [code, 'req_1'])
          if (!early) assert.ok('{"city":"Paris"}'.startsWith(error.text))
          return true
        })
        assert.equal(printed.mock.callCount(), 0)
      })
    }
  }
}

test('an error event: the iterator throws, after the text before it', async (t) => {
  const baseURL = await streaming(t, FAILED)
  const seen = []
  const callbacks = [{ handleLLMError: ({ name }) => seen.push(name), handleLLMEnd: () => seen.push('end') }]
  const failed = { name: 'StreamError', code: 'provider_error', requestId: 'req_1', text: 'Hel' }
  const into = (list, one) => async (stream) => {
    for await (const each of await stream) list.push(one(each))
  }
  const texts = []
  await assert.rejects(into(texts, ({ text }) => text)(chat({ baseURL, callbacks }).stream('x')), failed)
  assert.deepEqual([texts, seen], [['Hel'], ['StreamError']])
  const events = []
  await assert.rejects(
    into(events, ({ event }) => event)(chat({ baseURL }).streamEvents('x', { version: 'v2' })),
    failed,
  )
  assert.deepEqual(events, ['on_chat_model_start', 'on_chat_model_stream'])
  await assert.rejects(STREAMS['invoke with streaming']({ baseURL }), failed)
})

test('a complete stream is no error for any reader', async (t) => {
  const baseURL = await streaming(t, COMPLETE)
  for (const call of Object.values(STREAMS)) await call({ baseURL })
})

test('output that does not fit the schema is LangChain’s error', async (t) => {
  const baseURL = await streaming(t, COMPLETE)
  const numbers = chat({ baseURL, streaming: true }).withStructuredOutput(z.object({ city: z.number() }))
  await assert.rejects(numbers.invoke('x'), { lc_error_code: 'OUTPUT_PARSING_FAILURE' })
})
