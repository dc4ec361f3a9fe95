// A server that responds according to a script, for the table of behaviors in testdata/clients. It prints {"url"}
// when it is listening and ends when its standard input ends. testdata/clients/README.md describes the scripts and
// the recorded requests.
import { createServer } from 'node:http'

const MAX_WRITE_BYTES = 1 << 20

/** Cases by ID: the remaining responses, the number already sent, and the requests so far. */
const cases = new Map()

const server = createServer((request, response) => {
  route(request, response).catch((error) => {
    process.stderr.write(`${error.stack}\n`)
    response.destroy()
  })
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ url: origin() })))
process.stdin.on('end', () => process.exit()).resume()

const origin = () => `http://127.0.0.1:${server.address().port}`

async function route(request, response) {
  const url = new URL(request.url, origin())
  const [, area, id] = url.pathname.split('/')
  const prefix = `/${area}/${id}`
  const body = await text(request)
  if (area === '__cases' && request.method === 'PUT') {
    cases.set(id, { answers: JSON.parse(body), requests: [] })
    return send(response, 204)
  }
  const known = cases.get(id)
  if (!known) return send(response, 404, { error: `no case ${id}`, code: 'unscripted' })
  if (area === '__cases') return send(response, 200, known.requests)
  const record = recorded(request, url, prefix, body)
  known.requests.push(record)
  const number = known.requests.length
  const answer = known.answers[number - 1]
  // Clients do not retry a 418, so they send no more than one request too many.
  if (!answer) return send(response, 418, { error: `answer ${number} is not scripted`, code: 'unscripted' })
  response.on('close', () => {
    record.closed = !response.writableFinished && !response.broken
  })
  await play(response, filled(answer, `${origin()}${prefix}`), number)
}

function recorded(request, url, prefix, body) {
  const path = request.url.split('?')[0].slice(prefix.length) // as sent; URL would resolve "%2E%2E"
  const query = Object.fromEntries(url.searchParams)
  return { method: request.method, path, query, headers: request.headers, body: json(body), closed: false }
}

async function text(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The JSON value of a text, the text itself if it is not JSON, or null for no text. */
function json(body) {
  if (body === '') return null
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function send(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(value === undefined ? undefined : JSON.stringify(value))
}

/** Replaces {url} in all strings with the case's URL, and {"dateInMs"} with an HTTP date. */
function filled(value, url) {
  if (typeof value === 'string') return value.replaceAll('{url}', url)
  if (Array.isArray(value)) return value.map((item) => filled(item, url))
  if (value === null || typeof value !== 'object') return value
  if (Object.hasOwn(value, 'dateInMs')) return new Date(Date.now() + value.dateInMs).toUTCString()
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, url)]))
}

async function play(response, answer, number) {
  if (answer.delayMs) await new Promise((resolve) => setTimeout(resolve, answer.delayMs))
  if (answer.fault) return end(response, answer.fault)
  const body = bodyOf(answer)
  const ending = answer.sse ? (answer.end ?? 'done') : (answer.end ?? 'close')
  const whole = body.reduce((sum, { text, times }) => sum + Buffer.byteLength(text) * times, 0)
  const headers = headersOf(answer, number)
  // With a length, a client can tell a truncated body from a complete one.
  if (!answer.sse) headers['content-length'] = answer.contentLength ?? whole
  response.writeHead(answer.status ?? 200, headers)
  response.flushHeaders()
  await write(response, body, answer.chunks)
  await end(response, ending)
}

function headersOf({ sse, json, headers, end }, number) {
  const type = sse ? 'text/event-stream; charset=utf-8' : json === undefined ? 'text/plain' : 'application/json'
  const all = { 'content-type': type, 'x-request-id': `req_${number}`, ...headers }
  // Some runtimes resend a request themselves if a reused connection breaks, so connections are not reused. A stream
  // that will break must not announce this: after `connection: close`, Node 20 treats a broken stream as complete.
  if (!sse || end === undefined || end === 'done' || end === 'close') all.connection = 'close'
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
}

/** The body as [{text, times}], where each text is repeated `times`. */
function bodyOf({ json, text, times = 1, sse, end = 'done' }) {
  if (json !== undefined) return [{ text: JSON.stringify(json), times: 1 }]
  if (!sse) return [{ text: text ?? '', times }]
  const events = sse.map((event) => {
    if (typeof event === 'string') return { text: event, times: 1 }
    if (Object.hasOwn(event, 'raw')) return { text: event.raw, times: event.times ?? 1 }
    return { text: `data: ${JSON.stringify(event)}\n\n`, times: 1 }
  })
  return end === 'done' ? [...events, { text: 'data: [DONE]\n\n', times: 1 }] : events
}

/** Writes a body, if requested in pieces of a given size. Stops if the client has closed the connection. */
async function write(response, body, pieceBytes) {
  for (const bytes of pieces(body, pieceBytes)) {
    if (response.destroyed) return
    if (!response.write(bytes)) await drained(response)
    if (pieceBytes) await new Promise((resolve) => setImmediate(resolve))
  }
}

function* pieces(body, pieceBytes) {
  if (pieceBytes) {
    const all = Buffer.from(body.map(({ text, times }) => text.repeat(times)).join(''))
    for (let i = 0; i < all.length; i += pieceBytes) yield all.subarray(i, i + pieceBytes)
    return
  }
  for (const { text, times } of body) {
    const perWrite = Math.max(1, Math.floor(MAX_WRITE_BYTES / Math.max(1, text.length)))
    for (let done = 0; done < times; done += perWrite) yield text.repeat(Math.min(perWrite, times - done))
  }
}

function drained(response) {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}

/** Ends a response. `done` and `close` finish it, `reset` and `cut` break the connection, and `hang` does neither. */
async function end(response, how) {
  if (how === 'hang' || response.destroyed) return
  if (how === 'done' || (how === 'close' && response.headersSent)) {
    response.end()
    return
  }
  response.broken = true
  // A reset discards bytes that the client has not read. No event says when the client has read all of them, so wait.
  const ms = how === 'reset' ? 1000 : 50
  await new Promise((resolve) => setTimeout(resolve, response.headersSent ? ms : 0))
  if (how === 'reset') response.socket?.resetAndDestroy()
  else response.socket?.destroy()
}
