import { OpenAICompatibleEmbeddingModel } from '@ai-sdk/openai-compatible'
import type { EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from '@ai-sdk/provider'
import { prepared } from './call.js'
import { posternError } from './errors.js'
import { annotated } from './meta.js'
import type { Settings } from './settings.js'

/** An embedding model behind the gateway, by `/v1/embeddings`. */
export class PosternEmbeddingModel extends OpenAICompatibleEmbeddingModel {
  readonly #settings: Settings

  constructor(modelId: string, settings: Settings) {
    super(modelId, {
      provider: 'postern.embedding',
      url: ({ path }) => settings.baseURL + path,
      fetch: settings.fetch,
    })
    this.#settings = settings
  }

  override async doEmbed(options: EmbeddingModelV4CallOptions): Promise<EmbeddingModelV4Result> {
    try {
      return annotated(await super.doEmbed(prepared(options, this.#settings, 'embedding')))
    } catch (error) {
      throw posternError(error, this.#settings, false)
    }
  }
}
