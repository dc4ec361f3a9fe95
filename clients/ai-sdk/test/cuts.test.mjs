// What each function of the AI SDK throws or emits when a connection breaks or a stream fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostern, PosternCallError, PosternStreamError } from '@postern-ai/ai-sdk'
import { APIConnectionError, InvalidResponseError } from '@postern-ai/client'
import { APICallError, embed, generateObject, generateText, streamObject, streamText } from 'ai'
import { z } from 'zod'
import { breaking, FAILED, POINTS, streaming, WAYS } from '../../../test/clients/cut.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const schema = z.object({ city: z.string() })
const COMPLETE = ['after the finish reason', 'before [DONE]']
const provider = (options) => createPostern({ apiKey: 'sk_test_a', ...options })

/** Reads everything from a streamText, and returns its errors, parts and text. */
async function readText(model) {
  const errors = []
  const called = []
  const result = streamText({
    model,
    prompt: 'x',
    maxRetries: 0,
    onError: ({ error }) => errors.push(error),
    onFinish: () => called.push('onFinish'),
  })
  const parts = []
  for await (const part of result.fullStream) parts.push(part)
  const outcome = await result.text.then(
    (text) => ({ text }),
    (thrown) => ({ thrown }),
  )
  return { errors, called, parts, outcome, result }
}

async function readObject(model) {
  const errors = []
  const onError = ({ error }) => errors.push(error)
  const result = streamObject({ model, schema, prompt: 'x', maxRetries: 0, onError })
  const object = result.object.catch((error) => error)
  for await (const _ of result.partialObjectStream);
  return { errors, object: await object }
}

function lost(error, Class, code, requestId) {
  assert.ok(error instanceof Class, `${error?.name}: ${error?.message}`)
  assert.deepEqual([error.code, error.requestId], [code, requestId])
}

for (const point of Object.keys(POINTS)) {
  for (const way of Object.keys(WAYS)) {
    const early = point === 'before the headers'
    const complete = way === 'ended' && COMPLETE.includes(point)
    const requestId = early ? null : 'req_1'

    test(`${way} ${point}: calls without a stream`, async (t) => {
      const { url, fetch } = await breaking(t, point, way)
      const postern = provider({ baseURL: url, fetch })
      const whole = way !== 'ended' || early
      for (const call of [
        () => generateText({ model: postern('m'), prompt: 'x', maxRetries: 0 }),
        () => generateObject({ model: postern('m'), schema, prompt: 'x', maxRetries: 0 }),
        () => embed({ model: postern.embeddingModel('m'), value: 'x', maxRetries: 0 }),
      ]) {
        await assert.rejects(call, (error) => {
          lost(error, PosternCallError, whole ? 'connection_lost' : 'invalid_response', requestId)
          assert.ok(APICallError.isInstance(error))
          assert.ok(error.cause instanceof (whole ? APIConnectionError : InvalidResponseError))
          return true
        })
      }
    })

    test(`${way} ${point}: streams`, async (t) => {
      const { url, fetch } = await breaking(t, point, way)
      const model = provider({ baseURL: url, fetch })('m')
      const code = early || way !== 'ended' ? 'connection_lost' : 'incomplete_stream'
      const { errors, parts, outcome } = await readText(model)
      const streamed = await readObject(model)
      if (complete) {
        assert.deepEqual([errors, outcome.text, streamed.object], [[], '{"city":"Paris"}', { city: 'Paris' }])
        return
      }
      assert.deepEqual([errors.length, streamed.errors.length], [1, 1])
      assert.equal(parts.filter(({ type }) => type === 'error').length, 1)
      for (const error of [errors[0], streamed.errors[0], streamed.object]) {
        lost(error, early ? PosternCallError : PosternStreamError, code, requestId)
      }
      if (early) assert.equal(outcome.thrown.name, 'AI_NoOutputGeneratedError')
      else assert.ok('{"city":"Paris"}'.startsWith(outcome.text))
    })
  }
}

test('an error event: streamText and streamObject throw nothing while they are read', async (t) => {
  const model = provider({ baseURL: await streaming(t, FAILED) })('m')
  const { errors, called, parts, outcome, result } = await readText(model)
  const text = await Array.fromAsync(streamText({ model, prompt: 'x', onError() {} }).textStream)
  const ui = await Array.fromAsync(streamText({ model, prompt: 'x', onError() {} }).toUIMessageStream())
  const { errors: ofObject, object } = await readObject(model)
  const failed = parts.find(({ type }) => type === 'error').error
  for (const error of [errors[0], failed, ofObject[0], object]) {
    lost(error, PosternStreamError, 'provider_error', 'req_1')
    assert.equal(error.message, 'The provider failed.')
  }
  assert.deepEqual([errors.length, ofObject.length], [1, 1])
  assert.deepEqual([outcome.text, await result.finishReason, text], ['Hel', 'error', ['Hel']])
  assert.deepEqual(called, ['onFinish'])
  assert.deepEqual(
    ui.filter(({ type }) => type === 'error'),
    [{ type: 'error', errorText: 'An error occurred.' }],
  )
})

test('without onError, streamText prints the error', async (t) => {
  const printed = t.mock.method(console, 'error', () => {})
  const model = provider({ baseURL: await streaming(t, FAILED) })('m')
  await streamText({ model, prompt: 'x' }).consumeStream()
  assert.equal(printed.mock.callCount(), 1)
  assert.ok(printed.mock.calls[0].arguments[0] instanceof PosternStreamError)
})
