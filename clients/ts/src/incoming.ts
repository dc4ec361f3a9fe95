// Checks a browser's request to a chat handler.

/** A message that a browser may send. `prepare` may add system messages. */
export interface BrowserMessage {
  role: 'user' | 'assistant'
  content: string
}

/** The body of a browser's request: its checked messages, and other fields, which are not checked. */
export interface BrowserBody {
  messages: BrowserMessage[]
  [member: string]: unknown
}

/** A request in a form that is independent of frameworks. */
export interface Call {
  method: string
  host: string
  headers: Pick<Headers, 'get'>
  body(): AsyncIterable<Uint8Array>
  signal: AbortSignal
}

const MAX_MESSAGES = 1000

/** A rejection whose message is for the browser. */
export class Rejection extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message)
  }
}

/**
 * Rejects requests from pages of other sites. If the request is allowed, returns the CORS headers of its response. If
 * a request has neither header, it does not come from a browser, because browsers send `Origin` with every POST.
 * Source: Fetch standard, "Origin header", and W3C Fetch Metadata, "Sec-Fetch-Site".
 */
export function crossOrigin(call: Call, allowed: string[]): Record<string, string> {
  const origin = call.headers.get('origin')
  const site = call.headers.get('sec-fetch-site')
  if (origin !== null && allowed.includes(origin)) {
    return {
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
      vary: 'origin',
    }
  }
  const own =
    site !== null ? site === 'same-origin' || site === 'none' : origin === null || hostOf(origin) === call.host
  if (!own) throw new Rejection(403, 'forbidden', 'The page is of another origin.')
  return {}
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

/** Rejects methods other than POST and content types other than JSON. */
export function checkHead(call: Call): void {
  if (call.method !== 'POST') {
    throw new Rejection(405, 'method_not_allowed', 'Use POST.', { allow: 'POST, OPTIONS' })
  }
  // A form on another site can send this content type only after a preflight request.
  if (!/^application\/json\s*(;|$)/i.test(call.headers.get('content-type') ?? '')) {
    throw new Rejection(415, 'unsupported_media_type', 'The content type must be application/json.')
  }
}

/** Reads a JSON body up to a maximum size. */
export async function readBody(call: Call, maxBytes: number): Promise<unknown> {
  const tooLarge = () => new Rejection(413, 'request_too_large', `The body may have at most ${maxBytes} bytes.`)
  if (Number(call.headers.get('content-length')) > maxBytes) throw tooLarge()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let [text, bytes] = ['', 0]
  try {
    for await (const chunk of call.body()) {
      bytes += chunk.byteLength
      if (bytes > maxBytes) throw tooLarge()
      text += decoder.decode(chunk, { stream: true })
    }
    return JSON.parse(text + decoder.decode())
  } catch (error) {
    if (error instanceof Rejection) throw error
    throw new Rejection(400, 'invalid_request', 'The body is not JSON.')
  }
}

/** Checks the messages. */
export function browserBody(body: unknown): BrowserBody {
  const messages = (body as BrowserBody | null)?.messages
  const wrong = (text: string) => new Rejection(400, 'invalid_request', text)
  if (!Array.isArray(messages) || messages.length === 0) throw wrong('messages must be an array that is not empty.')
  if (messages.length > MAX_MESSAGES) throw wrong(`messages may have at most ${MAX_MESSAGES} entries.`)
  const checked = messages.map((message: BrowserMessage, i) => {
    const { role, content } = message ?? {}
    if (role !== 'user' && role !== 'assistant') throw wrong(`messages[${i}].role must be user or assistant.`)
    if (typeof content !== 'string') throw wrong(`messages[${i}].content must be a string.`)
    return { role, content }
  })
  return { ...(body as BrowserBody), messages: checked }
}
