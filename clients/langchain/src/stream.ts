import type { OpenAIClient } from '@langchain/openai'
import { type Finding, type ResponseMeta, StreamError } from '@postern-ai/client/adapter'
import { type Connection, isAbort } from './connection.js'

export type Chunk = OpenAIClient.Chat.ChatCompletionChunk

/**
 * Passes on a stream's chunks and marks the first one. Throws a StreamError if the gateway sends an error event. Also
 * throws one if the stream ends without a finish reason, which OpenAI's client would accept as complete.
 */
export async function* checked(
  chunks: AsyncIterable<Chunk>,
  meta: ResponseMeta,
  connection: Connection,
  mark: (chunk: Chunk) => Chunk,
): AsyncGenerator<Chunk> {
  let marked = false
  let finished = false
  let text = ''
  try {
    for await (const chunk of chunks) {
      const choice = chunk.choices[0]
      text += choice?.delta?.content ?? ''
      finished ||= choice?.finish_reason != null
      yield marked || !choice?.delta ? chunk : mark(chunk)
      marked ||= choice?.delta !== undefined
    }
  } catch (error) {
    throw streamError(error, meta, connection, text)
  }
  if (!finished) {
    const { requestId } = meta
    throw new StreamError('The stream is incomplete', { code: 'incomplete_stream', requestId, text })
  }
}

function streamError(thrown: unknown, { requestId }: ResponseMeta, connection: Connection, text: string): unknown {
  const { error } = (thrown ?? {}) as { error?: { message?: string; code?: string; findings?: Finding[] } }
  if (typeof error?.code === 'string') {
    const { message = 'The stream failed', code, findings } = error
    return new StreamError(message, { code, requestId, findings, text })
  }
  if (isAbort(thrown)) return connection.errorOf(thrown)
  const [code, message] =
    thrown instanceof SyntaxError
      ? ['invalid_event', 'An event of the stream is not as described']
      : ['connection_lost', 'The connection was lost']
  return new StreamError(message, { code, requestId, text, cause: thrown })
}
