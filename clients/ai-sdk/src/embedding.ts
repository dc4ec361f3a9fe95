import { OpenAICompatibleEmbeddingModel } from '@ai-sdk/openai-compatible'
import type { EmbeddingModelV3CallOptions } from '@ai-sdk/provider'
import { prepared } from './call.js'
import { posternError } from './errors.js'
import { annotated } from './meta.js'
import type { EmbeddingModel, EmbeddingResult } from './model.js'
import type { Settings } from './settings.js'

/**
 * An embedding model behind the gateway, via `/v1/embeddings`. Like the chat models, it implements specification v3.
 */
export class PosternEmbeddingModel implements EmbeddingModel {
  readonly specificationVersion = 'v3'
  readonly provider = 'postern.embedding'
  readonly modelId: string
  readonly maxEmbeddingsPerCall: number
  readonly supportsParallelCalls: boolean
  // This is a property because ai 7 calls it on a proxy of the model.
  readonly doEmbed: EmbeddingModel['doEmbed']

  constructor(modelId: string, settings: Settings) {
    this.modelId = modelId
    const model = new OpenAICompatibleEmbeddingModel(modelId, {
      provider: this.provider,
      url: ({ path }) => settings.baseURL + path,
      fetch: settings.fetch,
    })
    this.maxEmbeddingsPerCall = model.maxEmbeddingsPerCall
    this.supportsParallelCalls = model.supportsParallelCalls
    this.doEmbed = (options) => embed(model, settings, options)
  }
}

async function embed(model: OpenAICompatibleEmbeddingModel, settings: Settings, options: EmbeddingModelV3CallOptions) {
  try {
    return annotated(await model.doEmbed(prepared(options, settings, 'embedding'))) as EmbeddingResult
  } catch (error) {
    throw posternError(error, settings, false)
  }
}
