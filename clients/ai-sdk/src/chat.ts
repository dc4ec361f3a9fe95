import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider'
import { metaOf, type ResponseMeta } from '@postern-ai/client/adapter'
import { z } from 'zod/v4'
import { prepared } from './call.js'
import { PosternStreamError, posternError } from './errors.js'
import { annotated, warningsOf, withMeta } from './meta.js'
import type { Settings } from './settings.js'

// Keeps members that only Postern's errors have.
const errorSchema = z.looseObject({ error: z.looseObject({ message: z.string() }) })

/** A chat model behind the gateway, by `/v1/chat/completions`. */
export class PosternChatModel extends OpenAICompatibleChatLanguageModel {
  readonly #settings: Settings

  constructor(modelId: string, settings: Settings) {
    super(modelId, {
      provider: 'postern.chat',
      url: ({ path }) => settings.baseURL + path,
      fetch: settings.fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
      errorStructure: { errorSchema, errorToMessage: (body) => body.error.message },
    })
    this.#settings = settings
  }

  override async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const call = prepared(options, this.#settings, 'chat')
    try {
      return annotated(await super.doGenerate(call))
    } catch (error) {
      throw posternError(error, this.#settings, hasKey(call))
    }
  }

  override async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const call = prepared(options, this.#settings, 'chat')
    try {
      const result = await super.doStream(call)
      const meta = metaOf(new Headers(result.response?.headers))
      const transform = (part: LanguageModelV4StreamPart) => annotatedPart(part, meta, this.#settings)
      return { ...result, stream: result.stream.pipeThrough(mapped(transform)) }
    } catch (error) {
      throw posternError(error, this.#settings, hasKey(call))
    }
  }
}

function hasKey({ headers }: LanguageModelV4CallOptions): boolean {
  return headers?.['idempotency-key'] !== undefined
}

function mapped<T>(map: (value: T) => T): TransformStream<T, T> {
  return new TransformStream({ transform: (value, controller) => controller.enqueue(map(value)) })
}

function annotatedPart(
  part: LanguageModelV4StreamPart,
  meta: ResponseMeta,
  settings: Settings,
): LanguageModelV4StreamPart {
  switch (part.type) {
    case 'stream-start':
      return { ...part, warnings: [...part.warnings, ...warningsOf(meta)] }
    case 'finish':
      return { ...part, providerMetadata: withMeta(part.providerMetadata, meta) }
    case 'error':
      return { ...part, error: streamError(part.error, meta, settings) }
    default:
      return part
  }
}

// Postern's error events are plain objects here; anything else is the AI SDK's own error.
function streamError(error: unknown, meta: ResponseMeta, settings: Settings): unknown {
  return error instanceof Error
    ? posternError(error, settings, true)
    : new PosternStreamError(error ?? {}, meta.requestId)
}
