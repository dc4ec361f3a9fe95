// The events of a streamed completion, read from a response.
import type { Completion, FinishReason, Served } from './ai.js'
import { APIAbortedError, APITimeoutError, type Finding, StreamError } from './errors.js'
import { isObject, parsed, textOf } from './json.js'
import { EventDecoder, EventTooLarge } from './sse.js'
import { isToolEvent, type ToolCallDeltaEvent, type ToolCallEvent } from './tools.js'
import type { Answered, Transport } from './transport.js'

/** A piece of the output. */
export interface DeltaEvent {
  type: 'delta'
  /** Not empty. */
  text: string
}

/** The end of the output. */
export interface DoneEvent extends Served {
  type: 'done'
  finishReason: FinishReason
}

/** An event of a stream: text and tool calls, followed by `done`. A stream that fails throws instead. */
export type ChatEvent = DeltaEvent | ToolCallEvent | ToolCallDeltaEvent | DoneEvent

/** How long to wait for the end of the response after `done`. The connection can be reused only after that. */
const END_TIMEOUT_MS = 1_000

/** Reads one response. */
export class EventReader {
  readonly #transport: Transport
  readonly #answered: Answered
  #text = ''

  constructor(transport: Transport, answered: Answered) {
    this.#transport = transport
    this.#answered = answered
  }

  /**
   * Yields the events. Throws a StreamError or an APIAbortedError. After `done`, it only waits for the end of the
   * response.
   */
  async *events(): AsyncGenerator<ChatEvent, void, undefined> {
    const { cancel } = this.#answered
    try {
      yield* this.#read()
    } catch (thrown) {
      const error = this.#errorOf(thrown)
      cancel.stop()
      throw error
    } finally {
      cancel.release()
      this.#transport.logContent('response_body', this.#text)
    }
  }

  async *#read(): AsyncGenerator<ChatEvent, void, undefined> {
    const { response, cancel, running } = this.#answered
    const reader = response.body?.getReader()
    const decoder = new EventDecoder()
    for (;;) {
      cancel.within(running.timeout)
      const { done, value } = (await reader?.read()) ?? { done: true }
      cancel.pause()
      if (done) throw this.#failure('incomplete_stream', 'The stream ended before the completion did')
      for (const data of decoder.push(value)) {
        const event = this.#event(data)
        if (event) yield event
        if (event?.type === 'done') return this.#finish(reader)
      }
    }
  }

  /** Reads to the end of the response. The completion is complete, so failures no longer matter. */
  async #finish(reader: ReadableStreamDefaultReader | undefined): Promise<void> {
    const { cancel } = this.#answered
    cancel.within(END_TIMEOUT_MS)
    try {
      while (!(await reader?.read())?.done);
    } catch {}
  }

  /** Parses an event. Undefined if this client does not know its type, or if it is empty. */
  #event(data: string): ChatEvent | undefined {
    if (data === '[DONE]') throw this.#failure('incomplete_stream', 'The stream has no done event')
    const event = parsed(data)
    if (!isObject(event)) throw this.#failure('invalid_event', 'The stream has an event that is not a JSON object')
    if (event.type === 'error') throw this.#errorEvent(event)
    if (event.type === 'done') return event as unknown as DoneEvent
    if (event.type === 'toolCall' || event.type === 'toolCallDelta') {
      if (isToolEvent(event)) return event as unknown as ToolCallEvent | ToolCallDeltaEvent
      throw this.#failure('invalid_event', 'The stream has an event of a tool call that is not as described')
    }
    if (event.type !== 'delta' || typeof event.text !== 'string' || event.text === '') return undefined
    this.#text += event.text
    return event as unknown as DeltaEvent
  }

  #errorEvent({ error, code, requestId, findings }: Record<string, unknown>): StreamError {
    return new StreamError(textOf(error) ?? 'The stream failed', {
      code: textOf(code) ?? 'stream_error',
      requestId: textOf(requestId) ?? this.#answered.meta.requestId,
      findings: Array.isArray(findings) ? (findings as Finding[]) : [],
      text: this.#text,
    })
  }

  #errorOf(thrown: unknown): StreamError | APIAbortedError {
    const { cancel, running, attempt, response } = this.#answered
    const error = thrown instanceof StreamError ? thrown : this.#lost(thrown)
    if (error instanceof StreamError && !cancel.aborted) {
      const { code, requestId } = error
      this.#transport.failed(running, attempt, { status: response.status, code, requestId })
    }
    return error
  }

  #lost(thrown: unknown): StreamError | APIAbortedError {
    if (thrown instanceof EventTooLarge) {
      return this.#failure('event_too_large', 'The stream has an event of more than 16 MiB')
    }
    const { cancel, running } = this.#answered
    const error = cancel.errorOf(thrown, 'The stream', running)
    if (error instanceof APIAbortedError) return error
    if (error instanceof APITimeoutError) {
      return this.#failure('idle_timeout', `The stream sent nothing for ${running.timeout} ms`)
    }
    return this.#failure('connection_lost', 'The connection broke before the end of the stream', thrown)
  }

  #failure(code: string, message: string, cause?: unknown): StreamError {
    return new StreamError(message, { code, requestId: this.#answered.meta.requestId, text: this.#text, cause })
  }
}

/** Whether a value has the fields of a completion that callers rely on. */
export function isCompletion(value: unknown): value is Completion {
  return isObject(value) && typeof value.text === 'string' && isObject(value.usage)
}

/** The events of a non-streaming completion. */
export async function* eventsOf(completion: Omit<Completion, 'meta'>): AsyncGenerator<ChatEvent, void, undefined> {
  const { text, toolCalls = [], ...rest } = completion
  if (text) yield { type: 'delta', text }
  for (const [index, { id, name, arguments: given }] of toolCalls.entries()) {
    yield { type: 'toolCall', index, id, name }
    yield { type: 'toolCallDelta', index, arguments: JSON.stringify(given) }
  }
  yield { type: 'done', ...rest }
}
