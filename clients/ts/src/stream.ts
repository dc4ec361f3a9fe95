// A completion that arrives in pieces.
import type { Completion, Usage, ValidatedCompletion } from './ai.js'
import { readText } from './body.js'
import { APIAbortedError, PosternError } from './errors.js'
import { type ChatEvent, type DoneEvent, EventReader, eventsOf, isCompletion } from './events.js'
import { parsed } from './json.js'
import type { ResponseMeta } from './meta.js'
import type { CallOptions } from './options.js'
import { APIPromise, type WithResponse } from './promise.js'
import type { Call } from './request.js'
import { type StandardSchema, validated } from './schema.js'
import { type ToolCall, ToolCalls } from './tools.js'
import { type Received, type Transport, withResponse } from './transport.js'

/**
 * A streamed completion. Iterate over it, or read all of it with `text()`, `toolCalls()`, `usage()` or `final()`. You
 * can also call these methods during a loop or after it. If you break out of the loop, the request is aborted.
 */
export class ChatStream implements AsyncIterable<ChatEvent> {
  /** The gateway's metadata from the start of the response. The cost is in `usage()`. */
  readonly meta: ResponseMeta
  readonly #source: AsyncIterator<ChatEvent>
  readonly #stop: () => void
  readonly #unread: ChatEvent[] = []
  readonly #toolCalls = new ToolCalls()
  #text = ''
  #done: DoneEvent | undefined
  #failure: unknown
  #pulling: Promise<void> | undefined
  #iterated = false

  /** @internal */
  constructor(meta: ResponseMeta, source: AsyncIterator<ChatEvent>, stop: () => void) {
    this.meta = meta
    this.#source = source
    this.#stop = stop
  }

  /** The complete output, once it has arrived. Like the other methods, it throws a StreamError if the stream fails. */
  async text(): Promise<string> {
    await this.#readAll()
    return this.#text
  }

  /** The tools that the model calls, once the output has arrived. */
  async toolCalls(): Promise<ToolCall[]> {
    await this.#readAll()
    return this.#toolCalls.all()
  }

  /** Tokens and cost, once the output has arrived. */
  async usage(): Promise<Usage> {
    return (await this.#readAll()).usage
  }

  /** The complete result, once it has arrived. */
  async final(): Promise<Completion> {
    const { type: _, ...rest } = await this.#readAll()
    return { ...rest, text: this.#text, toolCalls: this.#toolCalls.all(), meta: this.meta }
  }

  /** Ends the request. Readers receive an APIAbortedError, unless the output is complete. */
  abort(): void {
    if (!this.#done) this.#failure ??= new APIAbortedError('The stream was aborted')
    this.#stop()
    this.#source.return?.().catch(() => {})
  }

  /** Iterates over the events, once. */
  [Symbol.asyncIterator](): AsyncIterator<ChatEvent, undefined, undefined> {
    if (this.#iterated) throw new PosternError('The stream was iterated before; final() has the whole completion')
    this.#iterated = true
    return {
      next: async () => {
        const value = await this.#next()
        return value ? { done: false, value } : { done: true, value: undefined }
      },
      return: async () => {
        this.abort()
        return { done: true, value: undefined }
      },
    }
  }

  async #next(): Promise<ChatEvent | undefined> {
    while (this.#unread.length === 0 && !this.#ended()) await this.#pull()
    const event = this.#unread.shift()
    if (event || this.#done) return event
    throw this.#failure
  }

  async #readAll(): Promise<DoneEvent> {
    while (!this.#ended()) await this.#pull()
    if (this.#done) return this.#done
    throw this.#failure
  }

  #ended(): boolean {
    return this.#done !== undefined || this.#failure !== undefined
  }

  /** Takes one event. Concurrent readers share a step, so events keep their order. Never rejects. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#step().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #step(): Promise<void> {
    try {
      const { value: event } = await this.#source.next()
      if (!event || this.#failure) return
      this.#unread.push(event)
      if (event.type === 'delta') this.#text += event.text
      else if (event.type === 'done') this.#finish(event)
      else this.#toolCalls.add(event)
    } catch (error) {
      this.#failure ??= error
    }
  }

  #finish(event: DoneEvent): void {
    this.#done = event
    // reads the rest of the response in the background, so nobody waits for it
    this.#source.next().catch(() => {})
  }
}

/** A stream whose complete output is validated once it has arrived. Its events arrive before that. */
export class ValidatedChatStream<T> extends ChatStream {
  readonly #schema: StandardSchema<T>
  #validated: Promise<ValidatedCompletion<T>> | undefined

  /** @internal */
  constructor(meta: ResponseMeta, source: AsyncIterator<ChatEvent>, stop: () => void, schema: StandardSchema<T>) {
    super(meta, source, stop)
    this.#schema = schema
  }

  /**
   * The validated output, once it has arrived. If there are tool calls but no text, it is undefined. Throws an
   * OutputValidationError if the schema rejects it.
   */
  async data(): Promise<T> {
    return (await this.final()).data
  }

  /**
   * The complete result with the validated output. Throws an OutputValidationError if the schema rejects the output.
   */
  override final(): Promise<ValidatedCompletion<T>> {
    this.#validated ??= super.final().then(async (completion) => {
      const data = await validated(this.#schema, completion)
      return { ...completion, data: data as T } // with tools, T includes undefined
    })
    return this.#validated
  }
}

/** The promise of a stream. Iterating over the promise yields the stream's events. */
export class StreamPromise<S extends ChatStream = ChatStream>
  extends APIPromise<S>
  implements AsyncIterable<ChatEvent>
{
  /** Iterates over the stream's events. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, undefined> {
    yield* await this
  }
}

/** Starts a stream. A JSON response becomes a stream of two events. With a schema, it is a ValidatedChatStream. */
export function openStream(
  transport: Transport,
  call: () => Call,
  options: CallOptions,
  schema: StandardSchema | undefined,
): StreamPromise {
  const open = async (): Promise<WithResponse<ChatStream>> => {
    const answered = await transport.send({ ...call(), accept: 'text/event-stream' }, options, jsonOf)
    const { cancel, meta } = answered
    const stop = () => cancel.stop()
    const events = eventsIn(transport, answered)
    const stream = schema ? new ValidatedChatStream(meta, events, stop, schema) : new ChatStream(meta, events, stop)
    return withResponse(stream, answered)
  }
  return new StreamPromise(open())
}

function eventsIn(transport: Transport, answered: Received<string | null>): AsyncGenerator<ChatEvent> {
  if (answered.body === null) return new EventReader(transport, answered).events()
  answered.cancel.release()
  const completion = parsed(answered.body)
  if (!isCompletion(completion)) throw transport.invalid(answered, 'is neither a stream nor a completion')
  return eventsOf(completion)
}

/** The body of a non-streaming response; null for a stream, which is read later. */
async function jsonOf(response: Response): Promise<string | null> {
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream')
  return streamed ? null : readText(response)
}
