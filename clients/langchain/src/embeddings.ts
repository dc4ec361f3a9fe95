import { OpenAIEmbeddings, type OpenAIEmbeddingsParams } from '@langchain/openai'
import { ConfigurationError } from '@postern-ai/client/adapter'
import { Connection, type ConnectionOptions, PLACEHOLDER, type PosternCallSettings, whole } from './connection.js'

/** Fields of `PosternEmbeddings`: those of the connection, and the parameters of LangChain's OpenAI embeddings. */
export interface PosternEmbeddingsFields
  extends Omit<ConnectionOptions, 'idempotency'>,
    Omit<Partial<OpenAIEmbeddingsParams>, 'modelName' | 'maxRetries'>,
    Pick<PosternCallSettings, 'strict' | 'cacheControl'> {
  /** The name of an embedding model, such as `text-embedding-3-small`. */
  model: string
}

/** An embedding model behind a Postern gateway. Errors are the client's, such as `BudgetExceededError`. */
export class PosternEmbeddings extends OpenAIEmbeddings {
  readonly #connection: Connection

  constructor(fields: PosternEmbeddingsFields) {
    if (!fields?.model) throw new ConfigurationError('model is required: the name of an embedding model')
    const connection = new Connection(fields)
    const { apiKey: _, maxRetries: __, ...others } = fields
    const { strict, cacheControl } = fields
    const headers = connection.headers({ strict, cacheControl }, false)
    const configuration = { ...connection.configuration, defaultHeaders: headers }
    super({ ...others, apiKey: PLACEHOLDER, maxRetries: 0, configuration })
    this.#connection = connection
  }

  protected override async embeddingWithRetry(request: Parameters<OpenAIEmbeddings['embeddingWithRetry']>[0]) {
    try {
      return whole(await super.embeddingWithRetry(request), 'data')
    } catch (error) {
      throw this.#connection.errorOf(error)
    }
  }
}
