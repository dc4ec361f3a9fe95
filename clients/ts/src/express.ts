// The chat handler for Express 4 and 5, and for Node's own HTTP server.
import { type ChatHandlerOptions, checkOptions, relay, report } from './relay.js'

export type { ChatParams } from './ai.js'
export type { BrowserBody, BrowserMessage } from './incoming.js'
export type { ChatClient, ChatHandlerOptions } from './relay.js'

/** The part of Express's request that the handler needs. */
export interface ExpressRequest extends AsyncIterable<Uint8Array> {
  method?: string
  headers: Record<string, string | string[] | undefined>
  body?: unknown
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array>
}

/** The part of Express's response that the handler needs. */
export interface ExpressResponse {
  writableEnded: boolean
  destroyed: boolean
  writeHead(status: number, headers: Record<string, string>): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  off(event: 'close' | 'drain', listener: () => void): unknown
}

/**
 * Creates a handler that streams completions to a browser, which never sees the key. See `createChatHandler` in
 * `@postern-ai/client/handler`. `authorize` receives Express's request, with everything that earlier middleware has
 * added. The handler works with or without Express's JSON parser in front of it.
 *
 * ```js
 * app.post('/api/chat', createChatHandler({ client: new Postern(), authorize: (req) => req.session.user ?? false }))
 * ```
 */
export function createChatHandler<Request extends ExpressRequest, Context>(
  options: ChatHandlerOptions<Request, Context>,
): (request: Request, response: ExpressResponse) => Promise<void> {
  checkOptions(options)
  return async (request, response) => {
    const gone = new AbortController()
    const leave = () => gone.abort()
    response.once('close', leave) // this event also fires after the response has ended, but then nobody listens to the signal
    const headers = { get: (name: string) => single(request.headers[name]) }
    const answer = await relay(options, request, {
      method: request.method ?? 'GET',
      host: headers.get('host') ?? '',
      headers,
      body: () => bodyOf(request),
      signal: gone.signal,
    })
    try {
      await send(answer, response)
    } catch (error) {
      // Other middleware has already responded, for example after a timeout. Express 4 does not await handlers.
      report(options, error, request)
      await answer.body?.cancel().catch(() => undefined)
    }
  }
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value.join(', ') : value) ?? null
}

// If Express's JSON parser has read the body, there is nothing left to read. If the body is too large, the connection
// must stay open for the response.
function bodyOf(request: ExpressRequest): AsyncIterable<Uint8Array> {
  if (request.body === undefined) return request.iterator?.({ destroyOnReturn: false }) ?? request
  return (async function* () {
    yield new TextEncoder().encode(JSON.stringify(request.body))
  })()
}

async function send(answer: Response, response: ExpressResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  const reader = answer.body?.getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    if (response.destroyed) {
      await reader?.cancel()
      return
    }
    if (!response.write(read.value)) await drained(response)
  }
  response.end()
}

function drained(response: ExpressResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
  })
}
