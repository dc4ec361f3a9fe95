// Reads a chat handler's stream in a browser, without a key.

/** A failed chat: the handler's status (0 if the stream had begun), its code and the request ID. */
export class ChatError extends Error {
  override name = 'ChatError'
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestId?: string,
  ) {
    super(message)
  }
}

/** Token counts of a chat. */
export interface ChatUsage {
  promptTokens: number
  completionTokens: number
  totalTokens: number
}

/**
 * Posts `body` to a chat handler and yields the text as it arrives. Returns the token counts. Leaving the loop or
 * aborting `signal` ends the request.
 *
 * ```js
 * for await (const text of chat('/api/chat', { messages })) output.append(text)
 * ```
 */
export async function* chat(
  url: string,
  body: { messages: { role: 'user' | 'assistant'; content: string }[]; [member: string]: unknown },
  init: RequestInit = {},
): AsyncGenerator<string, ChatUsage | undefined> {
  const headers = new Headers(init.headers)
  headers.set('content-type', 'application/json')
  const response = await fetch(url, { ...init, method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok || !response.body) throw failure(await response.json().catch(() => ({})), response.status)
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let usage: ChatUsage | undefined
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new ChatError('The answer is incomplete.', 0, 'incomplete_stream')
      text += decoder.decode(value, { stream: true })
      const events = text.split('\n\n')
      text = events.pop() as string
      for (const event of events) {
        if (event === 'data: [DONE]') return usage
        const data = JSON.parse(event.slice(6))
        if (data.type === 'delta') yield data.text
        else if (data.type === 'error') throw failure(data, 0)
        else usage = data.usage
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function failure(data: { error?: string; code?: string; requestId?: string }, status: number): ChatError {
  return new ChatError(data.error ?? 'The request failed.', status, data.code ?? 'request_failed', data.requestId)
}
