// A chat completions server whose connection breaks, at each point of a response and in each way.
import { once } from 'node:events'
import { createServer } from 'node:http'

const event = (body) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...body })}\n\n`
const piece = (content, finish_reason = null) =>
  event({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason }] })
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const message = { role: 'assistant', content: '{"city":"Paris"}', refusal: null }
const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
const completion = JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
const failure = { error: { message: 'The provider failed.', type: 'x', param: null, code: 'provider_error' } }
const whole = piece('{"city":"Paris"}') + piece('', 'stop')

/**
 * The parts of a streaming and of a non-streaming completion that are sent before the connection breaks. Null means
 * that not even the headers are sent.
 */
export const POINTS = {
  'before the headers': null,
  'after the headers': ['', ''],
  'within an event': [piece('{"ci') + piece('ty').slice(0, 40), completion.slice(0, 50)],
  'between two events': [piece('{"ci') + piece('ty"'), completion.slice(0, 80)],
  'after the finish reason': [whole, completion.slice(0, -20)],
  'before [DONE]': [whole + event({ choices: [], usage }), completion.slice(0, -1)],
}

/** How the connection breaks: closed, reset, or ended as if it were complete. */
export const WAYS = {
  closed: (response) => response.socket.destroy(),
  reset: (response) => response.socket.resetAndDestroy(),
  ended: (response) => response.end(),
}

/** A stream whose first piece is followed by an error event of the gateway, which ends it. */
export const FAILED = `${piece('Hel')}data: ${JSON.stringify(failure)}\n\n`

/** A complete stream. */
export const COMPLETE = `${whole}${event({ choices: [], usage })}data: [DONE]\n\n`

/**
 * Starts a server that breaks each connection at a given point, in a given way. The returned `fetch` breaks the
 * connection once the headers have arrived. A reset may also discard a part of the body that was already sent. The
 * server closes at the end of test t.
 */
export async function breaking(t, point, way) {
  const sent = POINTS[point]
  let response
  const url = await serving(t, (reply, { stream }) => {
    response = reply
    if (!sent) return WAYS[way === 'ended' ? 'closed' : way](reply)
    head(reply, stream)
    reply.write(sent[stream ? 0 : 1])
  })
  const transport = globalThis.fetch
  const fetch = async (...request) => {
    const arrived = await transport(...request)
    WAYS[way](response)
    return arrived
  }
  return { url, fetch }
}

/** Starts a server that responds to every request with a stream. */
export function streaming(t, text) {
  return serving(t, (reply) => {
    head(reply, true)
    reply.end(text)
  })
}

function head(reply, stream) {
  const type = stream ? 'text/event-stream' : 'application/json'
  reply.writeHead(200, { 'content-type': type, 'x-request-id': 'req_1' }).flushHeaders()
}

async function serving(t, answer) {
  const server = createServer(async (request, reply) => {
    let body = ''
    for await (const chunk of request) body += chunk
    answer(reply, JSON.parse(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${server.address().port}`
}
