// A chat handler for any framework that maps a Request to a Response: Next.js route handlers, Hono, Workers, Deno,
// Bun.
import { type ChatHandlerOptions, checkOptions, relay } from './relay.js'

export type { ChatParams } from './ai.js'
export type { BrowserBody, BrowserMessage } from './incoming.js'
export type { ChatClient, ChatHandlerOptions } from './relay.js'

/**
 * Creates a handler that streams completions to a browser, which never sees the key.
 *
 * The browser posts `{"messages": [...]}` as JSON and reads server-sent events; `@postern-ai/client/browser` does
 * both. Only pages of the same origin may call it, unless `origins` lists others. When the browser disconnects, the
 * completion is aborted, and the text up to that point is billed.
 *
 * ```ts
 * export const POST = createChatHandler({
 *   client: new Postern(),
 *   authorize: (request) => sessionOf(request) ?? false,
 *   prepare: ({ messages }) => ({ messages, quality: 'cheap', maxTokens: 500 }),
 * })
 * ```
 */
export function createChatHandler<Context>(
  options: ChatHandlerOptions<Request, Context>,
): (request: Request) => Promise<Response> {
  checkOptions(options)
  return (request) =>
    relay(options, request, {
      method: request.method,
      host: new URL(request.url).host,
      headers: request.headers,
      body: () => bodyOf(request),
      signal: request.signal,
    })
}

async function* bodyOf(request: Request): AsyncGenerator<Uint8Array> {
  const reader = request.body?.getReader()
  if (!reader) return
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
