// Completions: POST /api/ai/complete and /api/ai/chat.
import { ConfigurationError } from './errors.js'
import { isCompletion } from './events.js'
import type { ResponseMeta } from './meta.js'
import type { CallOptions } from './options.js'
import type { APIPromise } from './promise.js'
import { checkSchema, type StandardSchema, validated } from './schema.js'
import { openStream, type StreamPromise } from './stream.js'
import { type Call, checkParams, type Received, type Transport } from './transport.js'

/** A message of a conversation. */
export interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string
}

/** Parameters of a stream. */
export interface ChatParams {
  /** The conversation, oldest message first. */
  messages: readonly Message[]
  /** The tier that serves the request. Default `balanced`. */
  quality?: 'cheap' | 'balanced' | 'frontier' | undefined
  /** Sampling temperature, 0 to 2. Default 0.7. */
  temperature?: number | undefined
  /** Maximum output in tokens. Default 1000. */
  maxTokens?: number | undefined
  /** `json` asks the model for JSON. Default `text`. */
  mode?: 'text' | 'json' | undefined
  /**
   * `no-store`: neither read nor write the gateway's cache. `no-cache`: do not read it. `max-age=N`: accept a cached
   * response that is at most N seconds old.
   */
  cacheControl?: string | undefined
  /** Reject the request with 400 if the model does not support one of its parameters, in place of dropping it. */
  strict?: boolean | undefined
}

/** Parameters of a completion. */
export interface CompleteParams<Output = unknown> extends ChatParams {
  /**
   * A Standard Schema, such as one of Zod, for the output. The model is asked for JSON, and `data` is the validated
   * output. The schema itself is not sent: describe the wanted JSON in the messages.
   */
  schema?: StandardSchema<Output> | undefined
}

/** Tokens and cost of a completion. */
export interface Usage {
  promptTokens: number
  completionTokens: number
  totalTokens: number
  /** Exact cost in cents; 0 for a response from the cache. Includes billed attempts that failed. */
  costCents: number
}

/** The Governor's judgment of a text. */
export interface Verdict {
  decision: 'approve' | 'review' | 'block'
  /** 0 to 100. */
  riskScore: number
}

/** The Governor's decisions about a request and its response. */
export interface Governance {
  input: Verdict
  /** Null for a response from the cache. */
  output: Verdict | null
  policyVersion: number
}

/** A whole completion. */
export interface Completion {
  /** The model's output. With `mode: 'json'`, JSON as a string. */
  text: string
  /** The provider that served the request; `mock` for development keys. */
  provider: string
  /** The model that served the request. */
  model: string
  /** Whether the response comes from the gateway's cache. */
  cacheHit: boolean
  usage: Usage
  /** Present if the Governor is enabled. */
  governor?: Governance
  /** What the gateway says about the response. */
  meta: ResponseMeta
}

/** A completion whose output was validated. */
export interface ValidatedCompletion<T> extends Completion {
  /** What the schema made of the output. */
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
   * Gets a whole completion. With a `schema`, also the validated output; an output that the schema rejects is an
   * OutputValidationError.
   *
   * ```ts
   * const { text, usage } = await postern.ai.complete({ messages: [{ role: 'user', content: 'Hello!' }] })
   * ```
   */
  complete<T>(
    params: CompleteParams<T> & { schema: StandardSchema<T> },
    options?: CallOptions,
  ): APIPromise<ValidatedCompletion<T>>
  complete(params: CompleteParams, options?: CallOptions): APIPromise<Completion>
  complete(params: CompleteParams, options: CallOptions = {}): APIPromise<Completion> {
    const { schema, ...sent } = params ?? {}
    if (schema === undefined) return this.#transport.json(() => call('complete', params), options, this.#completion)
    const checked = () => {
      checkSchema(schema)
      return call('complete', { ...sent, mode: 'json' })
    }
    return this.#transport.json(checked, options, async (value, received) => {
      const completion = this.#completion(value, received)
      return { ...completion, data: await validated(schema, completion) }
    })
  }

  /**
   * Streams a completion. The promise is fulfilled when the response starts; it can also be iterated itself.
   *
   * ```ts
   * const stream = await postern.ai.chat({ messages: [{ role: 'user', content: 'Hello!' }] })
   * for await (const event of stream) if (event.type === 'delta') process.stdout.write(event.text)
   * const { costCents } = await stream.usage()
   * ```
   */
  chat(params: ChatParams, options: CallOptions = {}): StreamPromise {
    const checked = () => {
      checkParams(params)
      if ('schema' in params) throw new ConfigurationError('ai.chat takes no schema; ai.complete does')
      return call('chat', params)
    }
    return openStream(this.#transport, checked, options)
  }

  #completion = (value: Record<string, unknown>, received: Received<string>): Completion => {
    if (!isCompletion(value)) throw this.#transport.invalid(received, 'is no completion')
    return { ...value, meta: received.meta }
  }
}

function call(endpoint: string, params: ChatParams): Call {
  checkParams(params)
  const { cacheControl, strict, ...body } = params
  const headers: Record<string, string> = {}
  if (cacheControl !== undefined) headers['cache-control'] = cacheControl
  if (strict) headers['x-postern-strict'] = 'true'
  return { method: 'POST', path: `/api/ai/${endpoint}`, headers, body, governed: true, idempotent: true }
}
