import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV3CallOptions,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { metaOf, type ResponseMeta } from '@postern-ai/client/adapter'
import { z } from 'zod/v4'
import { prepared } from './call.js'
import { posternError, streamError } from './errors.js'
import { annotated, warningsOf, withMeta } from './meta.js'
import type { ChatModel, GenerateResult, StreamPart, StreamResult } from './model.js'
import { marked } from './prompt.js'
import type { Settings } from './settings.js'

// Keeps the fields that only Postern's errors have.
const errorSchema = z.looseObject({ error: z.looseObject({ message: z.string() }) })

/**
 * A chat model behind the gateway, via `/v1/chat/completions`. It implements specification v3, which `ai` 6 and `ai`
 * 7 accept. Only `ai` 7 accepts v4.
 */
export class PosternChatModel implements ChatModel {
  readonly specificationVersion = 'v3'
  readonly provider = 'postern.chat'
  readonly modelId: string
  /**
   * Only https URLs of images reach the gateway as URLs. The AI SDK downloads all other files, such as PDFs, because
   * a chat completion cannot refer to them by URL.
   */
  readonly supportedUrls = { 'image/*': [/^https:\/\//] }
  // These are properties because ai 7 calls them on a proxy of the model.
  readonly doGenerate: ChatModel['doGenerate']
  readonly doStream: ChatModel['doStream']

  constructor(modelId: string, settings: Settings) {
    this.modelId = modelId
    const chat = new OpenAICompatibleChatLanguageModel(modelId, {
      provider: this.provider,
      url: ({ path }) => settings.baseURL + path,
      fetch: settings.fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
      errorStructure: { errorSchema, errorToMessage: (body) => body.error.message },
    })
    this.doGenerate = (options) => generate(chat, settings, options)
    this.doStream = (options) => stream(chat, settings, options)
  }
}

type Chat = OpenAICompatibleChatLanguageModel

async function generate(chat: Chat, settings: Settings, options: LanguageModelV3CallOptions) {
  const call = prepared(options, settings, 'chat')
  try {
    const result = await chat.doGenerate(inV4(call))
    // The result contains only text, reasoning and tool calls, which are the same in v3 and v4.
    return annotated(result) as GenerateResult
  } catch (error) {
    throw posternError(error, settings, hasKey(call))
  }
}

async function stream(chat: Chat, settings: Settings, options: LanguageModelV3CallOptions): Promise<StreamResult> {
  const call = prepared(options, settings, 'chat')
  try {
    const { stream, ...result } = await chat.doStream(inV4(call))
    const meta = metaOf(new Headers(result.response?.headers))
    const lost = (error: unknown) => ({ type: 'error' as const, error: streamError(error, meta) })
    const parts = withoutThrow(stream, lost, options.abortSignal)
    return { ...result, stream: parts.pipeThrough(mapped((part) => annotatedPart(part, meta))) }
  } catch (error) {
    throw posternError(error, settings, hasKey(call))
  }
}

// ai 7 may pass fields that only v4 has, such as `reasoning`.
function inV4(options: LanguageModelV3CallOptions): LanguageModelV4CallOptions {
  return { ...options, prompt: marked(options.prompt) }
}

function hasKey({ headers }: LanguageModelV3CallOptions): boolean {
  return headers?.['idempotency-key'] !== undefined
}

function mapped<T, U>(map: (value: T) => U): TransformStream<T, U> {
  return new TransformStream({ transform: (value, controller) => controller.enqueue(map(value)) })
}

/** Returns the same stream, except that a failure becomes its last part. An abort remains a failure. */
function withoutThrow<T>(stream: ReadableStream<T>, last: (error: unknown) => T, signal?: AbortSignal) {
  const reader = stream.getReader()
  return new ReadableStream<T>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        if (signal?.aborted || (error instanceof Error && error.name === 'AbortError')) throw error
        controller.enqueue(last(error))
        controller.close()
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function annotatedPart(part: LanguageModelV4StreamPart, meta: ResponseMeta): StreamPart {
  switch (part.type) {
    case 'stream-start':
      return { ...part, warnings: warningsOf(part.warnings, meta) }
    case 'finish':
      return { ...part, providerMetadata: withMeta(part.providerMetadata, meta) } as StreamPart
    case 'error':
      return { ...part, error: streamError(part.error, meta) }
    default:
      return part as StreamPart
  }
}
