import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import {
  InvalidResponseDataError,
  JSONParseError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
  type LanguageModelV4StreamResult,
  TypeValidationError,
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
      const transform = (part: LanguageModelV4StreamPart) => annotatedPart(part, meta)
      const lost = (error: unknown) => ({ type: 'error' as const, error: streamError(error, meta) })
      const stream = withoutThrow(result.stream, lost, options.abortSignal)
      return { ...result, stream: stream.pipeThrough(mapped(transform)) }
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

/** The same stream, whose failure is its last part. An abort stays a failure. */
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

function annotatedPart(part: LanguageModelV4StreamPart, meta: ResponseMeta): LanguageModelV4StreamPart {
  switch (part.type) {
    case 'stream-start':
      return { ...part, warnings: [...part.warnings, ...warningsOf(meta)] }
    case 'finish':
      return { ...part, providerMetadata: withMeta(part.providerMetadata, meta) }
    case 'error':
      return { ...part, error: streamError(part.error, meta) }
    default:
      return part
  }
}

// Postern's error events are plain objects here; anything else is the AI SDK's own error about the rest of the stream.
function streamError(error: unknown, meta: ResponseMeta): PosternStreamError {
  if (error instanceof PosternStreamError) return error
  if (!(error instanceof Error)) return new PosternStreamError(error ?? {}, meta.requestId)
  if (InvalidResponseDataError.isInstance(error))
    return broken('incomplete_stream', 'The stream is incomplete', error, meta)
  const invalid = JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)
  if (invalid) return broken('invalid_event', 'An event of the stream is not as described', error, meta)
  return broken('connection_lost', 'The connection was lost', error, meta)
}

function broken(code: string, message: string, cause: Error, { requestId }: ResponseMeta): PosternStreamError {
  return Object.defineProperty(new PosternStreamError({ message, code }, requestId), 'cause', { value: cause })
}
