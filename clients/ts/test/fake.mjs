// A client whose transport is a function that the test provides.
import { Postern } from '../dist/index.js'

export const HOOKS = Symbol.for('@postern-ai/client hooks')
export const hello = { messages: [{ role: 'user', content: 'Hello!' }] }
export const done = { type: 'done', provider: 'mock', model: 'm', cacheHit: false, usage: { costCents: 0.5 } }

/** A client that sends its requests to `fetch`, does not wait between attempts, and logs nothing. */
export function fakeClient(fetch, options = {}) {
  return new Postern({
    apiKey: 'sk_test_fake',
    baseURL: 'http://gateway.test',
    logging: { level: 'off' },
    fetch,
    [HOOKS]: { sleep: async () => {} },
    ...options,
  })
}

export const delta = (text) => ({ type: 'delta', text })
export const bytesOf = (events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

/** A streamed response whose body the test writes. Like that of a real transport, it fails when the signal is aborted. */
export function streamed(signal) {
  let controller
  const body = new ReadableStream({
    start: (given) => {
      controller = given
    },
  })
  signal?.addEventListener('abort', () => controller.error(signal.reason))
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const encoder = new TextEncoder()
  return {
    response,
    send: (...events) => controller.enqueue(encoder.encode(bytesOf(events))),
    close: () => controller.close(),
    fail: (error) => controller.error(error),
  }
}
