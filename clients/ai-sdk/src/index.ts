/** A provider for the Vercel AI SDK that uses a Postern gateway. */
import { NoSuchModelError } from '@ai-sdk/provider'
import { PosternChatModel } from './chat.js'
import { PosternEmbeddingModel } from './embedding.js'
import type { Provider } from './model.js'
import { type PosternProviderOptions, type Settings, settingsOf } from './settings.js'

export type { PosternCallOptions } from './call.js'
export { PosternCallError, PosternStreamError } from './errors.js'
export type { PosternChatModel, PosternEmbeddingModel, PosternProviderOptions }

/** A provider: a function that takes the name of a model or tier and returns a chat model. */
export interface PosternProvider extends Provider {
  (modelId: string): PosternChatModel
  languageModel(modelId: string): PosternChatModel
  chat(modelId: string): PosternChatModel
  embeddingModel(modelId: string): PosternEmbeddingModel
  embedding(modelId: string): PosternEmbeddingModel
}

/**
 * Creates a provider. Throws `ConfigurationError` if an option or variable is missing or invalid.
 *
 * ```ts
 * const postern = createPostern({ apiKey: '…', baseURL: 'https://ai.example.com' })
 * const { text, providerMetadata } = await generateText({ model: postern('gpt-5.4'), prompt: 'Hello!' })
 * console.log(text, providerMetadata?.postern.costCents)
 * ```
 */
export function createPostern(options: PosternProviderOptions = {}): PosternProvider {
  const settings = settingsOf(options)
  return providerOf(() => settings)
}

let fromVariables: Settings | undefined

/** The provider configured by the `POSTERN_…` variables. They are read when the first model is created. */
export const postern: PosternProvider = providerOf(() => (fromVariables ??= settingsOf({})))

function providerOf(settings: () => Settings): PosternProvider {
  const chat = (modelId: string) => new PosternChatModel(modelId, settings())
  const embedding = (modelId: string) => new PosternEmbeddingModel(modelId, settings())
  return Object.assign((modelId: string) => chat(modelId), {
    specificationVersion: 'v3' as const,
    languageModel: chat,
    chat,
    embeddingModel: embedding,
    embedding,
    imageModel(modelId: string): never {
      throw new NoSuchModelError({ modelId, modelType: 'imageModel', message: 'Postern has no image models' })
    },
  })
}
