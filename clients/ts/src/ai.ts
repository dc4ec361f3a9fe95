// Completions and embeddings: POST /api/ai/complete, /api/ai/chat and /api/ai/embed.
import { ConfigurationError } from './errors.js'
import { isCompletion } from './events.js'
import { isObject } from './json.js'
import type { ResponseMeta } from './meta.js'
import type { CallOptions } from './options.js'
import type { APIPromise } from './promise.js'
import { type Call, checkParams } from './request.js'
import { checkSchema, jsonSchemaOf, type StandardSchema, validated } from './schema.js'
import { openStream, type StreamPromise, type ValidatedChatStream } from './stream.js'
import type { Tool, ToolCall, ToolChoice } from './tools.js'
import type { Received, Transport } from './transport.js'

/** Text as a part of a message. */
export interface TextPart {
  type: 'text'
  text: string
}

/** An image, in a message from the user. */
export interface ImagePart {
  type: 'image'
  /** An `https://` URL or a data URL. */
  imageUrl: string
}

/** A file such as a PDF, in a message from the user. */
export interface FilePart {
  type: 'file'
  /** A data URL, such as `data:application/pdf;base64,…`. */
  fileData: string
  name?: string | undefined
}

/** A part of a message. */
export type ContentPart = TextPart | ImagePart | FilePart

/** A message from the system, the user or the model. */
export interface ContentMessage {
  role: 'system' | 'user' | 'assistant'
  content: string | readonly ContentPart[]
}

/** A message from the model with tool calls, sent back as it was returned. */
export interface ToolCallMessage {
  role: 'assistant'
  content?: string | readonly TextPart[] | undefined
  toolCalls: readonly ToolCall[]
}

/** The result of a tool call. */
export interface ToolMessage {
  role: 'tool'
  /** The `id` of the call. */
  toolCallId: string
  content: string | readonly TextPart[]
}

/** A message of a conversation. */
export type Message = ContentMessage | ToolCallMessage | ToolMessage

/** Parameters of a stream. */
export interface ChatParams {
  /** The conversation, oldest message first. */
  messages: readonly Message[]
  /** The model that serves the request: its name, `provider/model` or a tier. Not together with `quality`. */
  model?: string | undefined
  /** The tier that serves the request. Default `balanced`. */
  quality?: 'cheap' | 'balanced' | 'frontier' | undefined
  /** Sampling temperature, 0 to 2. Default 0.7. */
  temperature?: number | undefined
  /** Maximum output in tokens. Default 1000. */
  maxTokens?: number | undefined
  /** `json` asks the model for JSON. Default `text`. */
  mode?: 'text' | 'json' | undefined
  /** Nucleus sampling, 0 to 1. */
  topP?: number | undefined
  /** Stop sequences: the output ends before any of these strings. */
  stop?: string | readonly string[] | undefined
  /** Makes sampling repeatable, if the provider supports it. */
  seed?: number | undefined
  /** How much reasoning the model does. */
  reasoning?: { effort: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' } | undefined
  /** The functions that the model may call. */
  tools?: readonly Tool[] | undefined
  /** Whether the model may, must or must not call a tool, or which tool it must call. Needs `tools`. */
  toolChoice?: ToolChoice | undefined
  /** The JSON Schema that the output must match. The gateway validates the output. */
  responseSchema?: Record<string, unknown> | undefined
  /** Up to 16 labels, for providers that store them. */
  metadata?: Record<string, string> | undefined
  /**
   * `no-store`: neither read nor write the gateway's cache. `no-cache`: do not read it. `max-age=N`: accept a cached
   * response that is at most N seconds old.
   */
  cacheControl?: string | undefined
  /**
   * If true, a parameter that the model does not support causes a 400. By default, the gateway drops such a
   * parameter.
   */
  strict?: boolean | undefined
}

/** Parameters of a completion, or of a stream with a `schema`. */
export interface CompleteParams<Output = unknown> extends ChatParams {
  /**
   * A Standard Schema for the output, such as a Zod schema. The model is prompted to return JSON. The validated
   * output is `data`, or `data()` for a stream. Some schemas can produce a JSON Schema, as in Zod 4.2. It is sent as
   * the `responseSchema`, unless you set one. If your schema cannot produce a JSON Schema, describe the JSON that you
   * want in the messages.
   */
  schema?: StandardSchema<Output> | undefined
}

/** Parameters of embeddings. */
export interface EmbedParams {
  /** An embedding model: its name, or `provider/model`. */
  model: string
  /** One text, or up to 2048 texts. */
  input: string | readonly string[]
  /** The length of each vector, if the model offers several lengths. */
  dimensions?: number | undefined
  /** As in ChatParams. */
  cacheControl?: string | undefined
  /** As in ChatParams. */
  strict?: boolean | undefined
}

/** Tokens and cost of a completion. */
export interface Usage {
  promptTokens: number
  completionTokens: number
  totalTokens: number
  /** Exact cost in cents, including billed attempts that failed; 0 for a cached response. */
  costCents: number
}

/** The Governor's decision about a text. */
export interface Verdict {
  decision: 'approve' | 'review' | 'block'
  /** 0 to 100. */
  riskScore: number
}

/** The Governor's decisions about a request and its response. */
export interface Governance {
  input: Verdict
  /** Null for a cached response. */
  output: Verdict | null
  policyVersion: number
}

/** Why an output ended. `length` means that it reached the maximum number of tokens. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** Who served a call, and at what cost. */
export interface Served {
  /** The provider that served the request; `mock` for development keys. */
  provider: string
  /** The model that served the request. */
  model: string
  /** Whether the response comes from the gateway's cache. */
  cacheHit: boolean
  usage: Usage
  /** Number of calls to providers; 0 for a cached response or a development key. */
  attempts: number
  /** Time that the gateway took, in milliseconds. */
  latencyMs: number
  /** Present if the Governor is enabled. */
  governor?: Governance
}

/** A non-streaming completion. */
export interface Completion extends Served {
  /** The model's output. With `mode: 'json'`, JSON as a string. */
  text: string
  /** The tools that the model calls. */
  toolCalls: ToolCall[]
  finishReason: FinishReason
  /** The gateway's metadata about the response. */
  meta: ResponseMeta
}

/** The size of a prompt. */
export interface TokenCount {
  promptTokens: number
  /** Whether the number is the gateway's estimate. If not, the provider counted the tokens. */
  estimated: boolean
  /** The provider that would serve the request; `mock` for development keys. */
  provider: string
  /** The model that would serve the request. */
  model: string
  /** The gateway's metadata about the response. */
  meta: ResponseMeta
}

/** The embedding vectors of texts. */
export interface Embedding extends Served {
  /** One vector for each text, in the same order. */
  embeddings: number[][]
  /** The gateway's metadata about the response. */
  meta: ResponseMeta
}

/** A completion whose output was validated. */
export interface ValidatedCompletion<T> extends Completion {
  /** The validated output. Undefined if the response has tool calls but no text, which happens only with `tools`. */
  data: T
}

/** Completions. */
export class AI {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Gets a completion in one piece. With a `schema`, the result includes the validated output. If the schema rejects
   * the output, the call fails with an OutputValidationError. If there are tool calls but no text, nothing is
   * validated, and `data` is undefined.
   *
   * ```ts
   * const { text, usage } = await postern.ai.complete({ messages: [{ role: 'user', content: 'Hello!' }] })
   * ```
   */
  complete<T>(
    params: CompleteParams<T> & { schema: StandardSchema<T>; tools?: undefined },
    options?: CallOptions,
  ): APIPromise<ValidatedCompletion<T>>
  complete<T>(
    params: CompleteParams<T> & { schema: StandardSchema<T> },
    options?: CallOptions,
  ): APIPromise<ValidatedCompletion<T | undefined>>
  complete(params: CompleteParams, options?: CallOptions): APIPromise<Completion>
  complete(params: CompleteParams, options: CallOptions = {}): APIPromise<Completion> {
    return this.#transport.json(
      () => call('complete', params),
      options,
      async (value, received) => {
        const completion = this.#completion(value, received)
        const { schema } = params
        return schema === undefined ? completion : { ...completion, data: await validated(schema, completion) }
      },
    )
  }

  /**
   * Streams a completion. The promise is fulfilled when the response starts. You can also iterate over the promise
   * itself. With a `schema`, the stream's `data()` returns the validated output.
   *
   * ```ts
   * const stream = await postern.ai.chat({ messages: [{ role: 'user', content: 'Hello!' }] })
   * for await (const event of stream) if (event.type === 'delta') process.stdout.write(event.text)
   * const { costCents } = await stream.usage()
   * ```
   */
  chat<T>(
    params: CompleteParams<T> & { schema: StandardSchema<T>; tools?: undefined },
    options?: CallOptions,
  ): StreamPromise<ValidatedChatStream<T>>
  chat<T>(
    params: CompleteParams<T> & { schema: StandardSchema<T> },
    options?: CallOptions,
  ): StreamPromise<ValidatedChatStream<T | undefined>>
  chat(params: ChatParams, options?: CallOptions): StreamPromise
  chat(params: CompleteParams, options: CallOptions = {}): StreamPromise {
    return openStream(this.#transport, () => call('chat', params), options, params?.schema)
  }

  /**
   * Counts the input tokens that `complete` would send with these parameters. Does not run a model and costs nothing.
   *
   * ```ts
   * const { promptTokens } = await postern.ai.countTokens({ messages: [{ role: 'user', content: 'Hello!' }] })
   * ```
   */
  countTokens(params: CompleteParams, options: CallOptions = {}): APIPromise<TokenCount> {
    const counted = () => ({ ...call('count-tokens', params), idempotent: false })
    return this.#transport.json(counted, options, (value, received) => {
      if (!Number.isSafeInteger(value.promptTokens)) throw this.#transport.invalid(received, 'has no count of tokens')
      return { ...(value as unknown as Omit<TokenCount, 'meta'>), meta: received.meta }
    })
  }

  /**
   * Turns texts into vectors.
   *
   * ```ts
   * const { embeddings } = await postern.ai.embed({ model: 'text-embedding-3-small', input: ['one', 'two'] })
   * ```
   */
  embed(params: EmbedParams, options: CallOptions = {}): APIPromise<Embedding> {
    const checked = () => request('embed', params, EMBED_PARAMS)
    return this.#transport.json(checked, options, (value, received) => {
      if (!Array.isArray(value.embeddings) || !isObject(value.usage))
        throw this.#transport.invalid(received, 'has no embeddings')
      return { ...(value as unknown as Omit<Embedding, 'meta'>), meta: received.meta }
    })
  }

  #completion = (value: Record<string, unknown>, received: Received<string>): Completion => {
    if (!isCompletion(value)) throw this.#transport.invalid(received, 'is no completion')
    return { ...value, toolCalls: value.toolCalls ?? [], meta: received.meta }
  }
}

const EMBED_PARAMS = ['model', 'input', 'dimensions', 'cacheControl', 'strict']
const CHAT_PARAMS = [
  ...['messages', 'model', 'quality', 'temperature', 'maxTokens', 'mode', 'topP', 'stop', 'seed', 'reasoning', 'tools'],
  ...['toolChoice', 'schema', 'responseSchema', 'metadata', 'cacheControl', 'strict'],
]

/** A call with a prompt. A schema is sent as its JSON Schema. */
function call(endpoint: string, params: CompleteParams): Call {
  checkParams(params)
  const { schema, ...sent } = params
  if (schema !== undefined) {
    checkSchema(schema)
    sent.responseSchema ??= jsonSchemaOf(schema)
    sent.mode = 'json'
  }
  const made = request(endpoint, sent, CHAT_PARAMS)
  if (params.model !== undefined && params.quality !== undefined)
    throw new ConfigurationError('model and quality exclude each other: give one of them')
  return { ...made, idempotent: true }
}

function request(endpoint: string, params: ChatParams | EmbedParams, known: readonly string[]): Call {
  checkParams(params, known)
  const { cacheControl, strict, ...body } = params
  const headers: Record<string, string> = {}
  if (cacheControl !== undefined) headers['cache-control'] = cacheControl
  if (strict) headers['x-postern-strict'] = 'true'
  return { method: 'POST', path: `/api/ai/${endpoint}`, headers, body, governed: true }
}
