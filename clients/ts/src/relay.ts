// Code that the chat handlers of all web frameworks share.
import type { ChatParams } from './ai.js'
import { ConfigurationError } from './errors.js'
import type { ChatEvent } from './events.js'
import { type BrowserBody, browserBody, type Call, checkHead, crossOrigin, Rejection, readBody } from './incoming.js'
import { type CallOptions, onlyKnown } from './options.js'

/** The part of a `Postern` client that a handler uses. */
export interface ChatClient {
  ai: { chat(params: ChatParams, options: CallOptions): PromiseLike<AsyncIterable<ChatEvent>> }
}

/** Settings of a chat handler. `Incoming` is the framework's request. */
export interface ChatHandlerOptions<Incoming, Context> {
  client: ChatClient
  /**
   * Decides who may use the handler, for example based on a session cookie. If it returns `false`, nothing, `''` or
   * `0`, the request is rejected with 401. Any other value allows the request and is passed to `prepare`. The
   * function must not read the body.
   */
  authorize(request: Incoming): Context | false | null | undefined | Promise<Context | false | null | undefined>
  /**
   * Creates the completion's parameters from a browser's request. If it returns `false`, the request is rejected with
   * 400. The browser controls everything in `body`, so copy only the fields that the browser may choose. By default,
   * the browser chooses only the messages.
   */
  prepare?: ((body: BrowserBody, context: Context) => ChatParams | false | Promise<ChatParams | false>) | undefined
  /** Maximum size of a request body in bytes. Default: 262,144. */
  maxBodyBytes?: number | undefined
  /** Additional origins whose pages may use the handler, such as `https://app.example.com`. */
  origins?: string[] | undefined
  /** Receives the cause of each failure, which is not sent to the browser. By default, failures are not reported. */
  onError?: ((error: unknown, request: Incoming) => void | Promise<void>) | undefined
}

const HANDLER_OPTIONS = ['client', 'authorize', 'prepare', 'maxBodyBytes', 'origins', 'onError']
const DEFAULT_MAX_BODY_BYTES = 262_144
const encoder = new TextEncoder()

/** Checks the settings when a handler is created, so that a forgotten `authorize` does not create an open relay. */
export function checkOptions<I, C>(options: ChatHandlerOptions<I, C>): void {
  const required = (name: string, what: string) => new ConfigurationError(`${name} is required: ${what}`)
  onlyKnown(options, HANDLER_OPTIONS, '')
  if (typeof options.authorize !== 'function') throw required('authorize', 'a function that decides who may chat')
  if (typeof options.client?.ai?.chat !== 'function') throw required('client', 'new Postern({ … })')
  for (const name of ['prepare', 'onError'] as const) {
    if (!['undefined', 'function'].includes(typeof options[name]))
      throw new ConfigurationError(`${name} must be a function`)
  }
  const max = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  if (!Number.isSafeInteger(max) || max < 1) throw new ConfigurationError('maxBodyBytes must be a positive integer')
  const origins = options.origins ?? []
  if (!Array.isArray(origins)) throw new ConfigurationError('origins must be an array')
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new ConfigurationError(`origins: ${origin} is not an origin such as https://app.example.com`)
    }
  }
}

/** Handles one request. Never throws: a failure becomes a response, or the last event of a stream. */
export async function relay<I, C>(options: ChatHandlerOptions<I, C>, incoming: I, call: Call): Promise<Response> {
  let cors: Record<string, string> = {}
  try {
    cors = crossOrigin(call, options.origins ?? [])
    if (call.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: { allow: 'POST, OPTIONS', ...cors } })
    checkHead(call)
    return await answer(options, incoming, call, cors)
  } catch (error) {
    if (!(error instanceof Rejection || call.signal.aborted)) report(options, error, incoming)
    const { status, headers, ...body } = publicError(error)
    return Response.json(body, { status, headers: { ...plain, ...cors, ...headers } })
  }
}

async function answer<I, C>(options: ChatHandlerOptions<I, C>, incoming: I, call: Call, cors: Record<string, string>) {
  const context = await options.authorize(incoming)
  if (!context) throw new Rejection(401, 'unauthorized', 'Not signed in.')
  const body = browserBody(await readBody(call, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES))
  const params = options.prepare ? await options.prepare(body, context) : { messages: body.messages }
  if (params === false) throw new Rejection(400, 'invalid_request', 'The request is not allowed.')
  const stop = new AbortController()
  const abort = () => stop.abort()
  if (call.signal.aborted) abort()
  call.signal.addEventListener('abort', abort, { once: true })
  const events = await options.client.ai.chat(params, { signal: stop.signal })
  const failed = (error: unknown) => {
    if (!stop.signal.aborted) report(options, error, incoming)
  }
  return new Response(eventStream(events, abort, failed), { headers: { ...streaming, ...cors } })
}

/** Calls `onError`. An error that it throws must not become an unhandled rejection, which would end a Node process. */
export function report<I, C>(options: ChatHandlerOptions<I, C>, error: unknown, incoming: I): void {
  const call = async () => options.onError?.(error, incoming)
  call().catch(() => {
    // The response to the browser does not depend on it.
  })
}

const plain = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

// With `no-transform`, proxies do not compress the response, which would hold back events. x-accel-buffering keeps
// nginx from holding them back. Source: nginx's documentation of proxy_buffering.
const streaming = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
}

interface PublicError {
  error: string
  code: string
  requestId?: string
  status: number
  headers: Record<string, string>
}

const messages: Record<number, string> = {
  400: 'The request is invalid.',
  413: 'The request is too large.',
  422: 'The request was blocked.',
  429: 'Too many requests. Try again later.',
  503: 'The service is not available. Try again later.',
}

/** The part of an error that is sent to the browser: nothing about the request, the key, the provider or the budget. */
function publicError(error: unknown): PublicError {
  if (error instanceof Rejection) {
    const { status, code, headers } = error
    return { error: error.message, code, status, headers }
  }
  const {
    status = 0,
    code,
    requestId,
    retryAfterMs,
  } = (error ?? {}) as {
    status?: number
    code?: unknown
    requestId?: unknown
    retryAfterMs?: number | null
  }
  // 401 and 403 concern the server's key, so the browser is not told about them.
  const known = status in messages ? status : status === 402 ? 503 : status >= 500 ? 502 : 500
  const hidden = status === 401 || status === 403 || typeof code !== 'string' || !/^[a-z_]{1,64}$/.test(code)
  return {
    error: messages[known] ?? 'The request failed.',
    code: hidden ? 'request_failed' : (code as string),
    ...(typeof requestId === 'string' && { requestId }),
    status: known,
    headers: known === 429 && retryAfterMs ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : {},
  }
}

/** The response's body. It reads the next event only after the browser has received the last one. */
function eventStream(events: AsyncIterable<ChatEvent>, abort: () => void, failed: (error: unknown) => void) {
  const iterator = events[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next()
          if (!done) return send(controller, value)
          controller.enqueue(encoder.encode('data: [DONE]\n\n'))
        } catch (error) {
          failed(error)
          const { status: _, headers: __, ...shown } = publicError(error)
          controller.enqueue(event({ type: 'error', ...shown }))
        }
        controller.close()
      },
      async cancel() {
        abort()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

// The browser receives text and token counts. Provider, model and cost stay on the server.
function send(controller: ReadableStreamDefaultController<Uint8Array>, value: ChatEvent): void {
  if (value.type === 'delta') {
    controller.enqueue(event({ type: 'delta', text: value.text }))
  } else if (value.type === 'done') {
    const { promptTokens, completionTokens, totalTokens } = value.usage
    controller.enqueue(event({ type: 'done', usage: { promptTokens, completionTokens, totalTokens } }))
  }
}

function event(data: object): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(data)}\n\n`)
}
