import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import type { LangSmithParams } from '@langchain/core/language_models/chat_models'
import type { BaseMessage, BaseMessageChunk } from '@langchain/core/messages'

import {
  type BaseChatOpenAIFields,
  ChatOpenAICompletions,
  type ChatOpenAICompletionsCallOptions,
  type OpenAIClient,
} from '@langchain/openai'
import { ConfigurationError, metaOf, type ResponseMeta, VERSION } from '@postern-ai/client/adapter'
import { Connection, type ConnectionOptions, PLACEHOLDER, type PosternCallSettings, whole } from './connection.js'
import { type Chunk, checked } from './stream.js'

/** Fields of `ChatPostern`: those of the connection, and the model parameters of LangChain's OpenAI chat model. */
export interface ChatPosternFields
  extends ConnectionOptions,
    Omit<BaseChatOpenAIFields, 'apiKey' | 'configuration' | 'maxRetries' | 'model' | 'modelName'> {
  /** The name of a model or a tier, such as `gpt-5.4` or `cheap`. */
  model: string
}

/** Options for one call. */
export interface ChatPosternCallOptions extends ChatOpenAICompletionsCallOptions {
  postern?: PosternCallSettings
}

type Request = OpenAIClient.Chat.ChatCompletionCreateParams
type Completion = OpenAIClient.Chat.ChatCompletion
interface RequestOptions extends OpenAIClient.RequestOptions {
  postern?: PosternCallSettings
}

// The metadata of a response, attached to the objects from which LangChain creates messages.
const META = Symbol('postern.meta')
type WithMeta<T> = T & { [META]?: ResponseMeta }

/**
 * A chat model behind a Postern gateway. `response_metadata.postern` has the request ID, the cost, the attempts and
 * the rest of the client's `meta`. Its errors are the client's, such as `BudgetExceededError`. The key is neither in
 * the model's printed form nor in its serialized form.
 *
 * ```ts
 * const model = new ChatPostern({ model: 'gpt-5.4', apiKey: '…', baseURL: 'https://ai.example.com' })
 * const message = await model.invoke('Hello!', { postern: { cacheControl: 'no-store' } })
 * console.log(message.text, message.response_metadata.postern.costCents)
 * ```
 */
export class ChatPostern extends ChatOpenAICompletions<ChatPosternCallOptions> {
  override lc_namespace = ['langchain', 'chat_models', 'postern']
  readonly #connection: Connection

  static override lc_name(): string {
    return 'ChatPostern'
  }

  constructor(fields: ChatPosternFields)
  constructor(model: string, fields?: Omit<ChatPosternFields, 'model'>)
  constructor(modelOrFields: string | ChatPosternFields, more?: Omit<ChatPosternFields, 'model'>) {
    const fields = named(typeof modelOrFields === 'string' ? { ...more, model: modelOrFields } : modelOrFields)
    if (!fields.model) throw new ConfigurationError('model is required: the name of a model or a tier')
    const connection = new Connection(fields)
    const { apiKey: _, ...kwargs } = fields
    super({ ...kwargs, apiKey: PLACEHOLDER, maxRetries: 0, configuration: connection.configuration })
    this.#connection = connection
    this._addVersion('@postern-ai/langchain', VERSION)
    hide(this, 'lc_kwargs', kwargs)
  }

  override get lc_serializable_keys() {
    return undefined as unknown as string[]
  }

  /** The key is a secret. The caller of LangChain's `load` provides it. */
  override toJSON(): ReturnType<ChatOpenAICompletions['toJSON']> {
    const json = super.toJSON()
    if (!('kwargs' in json)) return json
    const { openai_api_key: _, organization: __, ...kwargs } = json.kwargs
    return { ...json, kwargs: { ...kwargs, api_key: { lc: 1, type: 'secret', id: ['POSTERN_API_KEY'] } } }
  }

  override get callKeys() {
    return [...super.callKeys, 'postern']
  }

  override _llmType(): string {
    return 'postern'
  }

  override get streamEventProvider(): string {
    return 'postern'
  }

  override getLsParams(options: this['ParsedCallOptions']): LangSmithParams {
    return { ...super.getLsParams(options), ls_provider: 'postern' }
  }

  /** Identifies the model in LangChain's caches, because two gateways may respond differently. */
  override _identifyingParams() {
    return { model_name: this.model, base_url: this.#connection.baseURL, ...this.invocationParams() }
  }

  override _generate(messages: BaseMessage[], options: this['ParsedCallOptions'], manager?: CallbackManagerForLLMRun) {
    const { postern } = options
    const sent = { ...options, options: { ...options.options, postern } as RequestOptions }
    return super._generate(messages, sent, manager)
  }

  // An estimate, because counting with tiktoken would fetch its tables from the network. LangChain calls this method
  // only with `streaming: true`.
  override async getNumTokens(content: unknown): Promise<number> {
    return Math.ceil((typeof content === 'string' ? content : JSON.stringify(content)).length / 4)
  }

  override completionWithRetry(
    request: Request & { stream: true },
    options?: RequestOptions,
  ): Promise<AsyncIterable<Chunk>>
  override completionWithRetry(
    request: Request & { stream?: false | null },
    options?: RequestOptions,
  ): Promise<Completion>
  override async completionWithRetry(request: Request, options: RequestOptions = {}): Promise<unknown> {
    const { postern = {}, maxRetries, headers, ...rest } = options
    const sent = this._getClientOptions({
      ...rest,
      headers: { ...(headers as Record<string, string>), ...this.#connection.headers(postern, true) },
      ...(maxRetries !== undefined && { fetchOptions: { retries: maxRetries } }),
    } as OpenAIClient.RequestOptions)
    return this.caller.callWithOptions({ signal: rest.signal ?? undefined }, async () => {
      let meta: ResponseMeta | undefined
      try {
        const answer = this.client.chat.completions.create(request, sent)
        meta = metaOf((await answer.asResponse()).headers)
        if (request.stream) return checked((await answer) as AsyncIterable<Chunk>, meta, this.#connection, mark(meta))
        return Object.assign(whole((await answer) as Completion, 'choices'), { [META]: meta })
      } catch (error) {
        throw this.#connection.errorOf(error, meta?.requestId)
      }
    })
  }

  protected override _convertCompletionsMessageToBaseMessage(
    message: OpenAIClient.ChatCompletionMessage,
    raw: WithMeta<Completion>,
  ): BaseMessage {
    return annotated(super._convertCompletionsMessageToBaseMessage(message, raw), raw)
  }

  protected override _convertCompletionsDeltaToBaseMessageChunk(
    delta: Record<string, unknown>,
    raw: WithMeta<Chunk>,
    role?: OpenAIClient.Chat.ChatCompletionRole,
  ): BaseMessageChunk {
    return annotated(super._convertCompletionsDeltaToBaseMessageChunk(delta, raw, role), raw)
  }
}

// LangChain's `load` renames model to modelName and baseURL to baseUrl.
function named(fields: ChatPosternFields & { modelName?: string; baseUrl?: string }): ChatPosternFields {
  const { modelName, baseUrl, ...given } = fields
  return { ...given, model: given.model ?? modelName, ...(baseUrl && { baseURL: baseUrl }) }
}

// LangChain merges the metadata of a stream's chunks, so exactly one chunk has it.
function mark(meta: ResponseMeta): (chunk: Chunk) => Chunk {
  return (chunk) => Object.assign(chunk, { [META]: meta })
}

function annotated<T extends BaseMessage>(message: T, { [META]: meta }: { [META]?: ResponseMeta }): T {
  if (meta) message.response_metadata = { ...message.response_metadata, postern: meta }
  return message
}

function hide(target: object, name: string, value: object): void {
  Object.defineProperty(target, name, { value, enumerable: false })
}
