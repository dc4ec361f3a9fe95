import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adviceFor, factsOf, partOf, requestOf, streamChat } from '../src/chat.js'

const FORM = { target: 'balanced', system: ' ', user: 'Hi', maxTokens: 10, temperature: '' }

test('a tier is sent to /api/ai/chat, a model to /v1/chat/completions', () => {
  assert.deepEqual(requestOf(FORM), {
    to: '/api/ai/chat',
    body: { quality: 'balanced', messages: [{ role: 'user', content: 'Hi' }], maxTokens: 10 },
  })
  assert.deepEqual(requestOf({ ...FORM, target: 'gpt-4.1', system: 'Be short', temperature: 0 }), {
    to: '/v1/chat/completions',
    body: {
      model: 'gpt-4.1',
      messages: [
        { role: 'system', content: 'Be short' },
        { role: 'user', content: 'Hi' },
      ],
      max_tokens: 10,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    },
  })
})

test('events of both streams are parsed', () => {
  const usage = { promptTokens: 6, completionTokens: 11, totalTokens: 17, costCents: 0 }
  assert.deepEqual(partOf('{"type":"delta","text":"a"}'), { text: 'a' })
  assert.deepEqual(partOf(JSON.stringify({ type: 'done', provider: 'mock', usage })), { usage })
  assert.deepEqual(partOf('[DONE]'), { end: true })
  assert.equal(
    partOf('{"type":"error","error":"Budget exceeded","code":"budget_exceeded"}').error.code,
    'budget_exceeded',
  )
  assert.equal(partOf('{"choices":[{"delta":{"content":"b"}}]}').text, 'b')
  assert.equal(partOf('{"choices":[{"delta":{"role":"assistant"}}]}').text, '')
  assert.deepEqual(
    partOf('{"choices":[],"usage":{"prompt_tokens":6,"completion_tokens":11,"total_tokens":17}}').usage,
    {
      ...usage,
      costCents: null,
    },
  )
  assert.deepEqual(partOf('{"error":{"message":"No","type":"server_error","code":null}}').error, {
    error: 'No',
    code: 'server_error',
  })
})

test('facts come from the response headers; a missing cost is null, not 0', () => {
  const facts = factsOf(
    new Headers({ 'x-postern-provider': 'openai', 'x-postern-cache': 'hit', 'x-postern-cost-cents': '0' }),
  )
  assert.deepEqual([facts.provider, facts.cache, facts.costCents, facts.attempts], ['openai', 'hit', 0, ''])
  assert.equal(factsOf(new Headers()).costCents, null)
})

test('masked and malformed keys are rejected before sending, with a remedy', async () => {
  const { signal } = new AbortController()
  for (const [key, message, advice] of [
    ['sk_live_…abcd', /masked/, /full key.* rotate the key/],
    ['sk_live_schlüssel', /not a valid API key/, /only the key/],
    ['sk_live_a b', /not a valid API key/, /only the key/],
  ]) {
    const error = await streamChat({ ...FORM, key }, signal, assert.fail).catch((rejected) => rejected)
    assert.match(error.message, message)
    assert.match(adviceFor(error), advice)
  }
})

test('every error has a remedy', () => {
  assert.match(adviceFor({ code: 'budget_exceeded', status: 402 }), /budget/)
  assert.match(adviceFor({ code: 'provider_error', status: 502 }), /All targets failed/)
  assert.match(adviceFor(new TypeError('Failed to fetch')), /Could not reach/)
  assert.match(adviceFor({ code: 'something_new', status: 500 }), /request ID/)
})
