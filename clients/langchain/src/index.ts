/** Chat model and embeddings of a Postern gateway for LangChain. */
export { ChatPostern, type ChatPosternCallOptions, type ChatPosternFields } from './chat'
export type { ConnectionOptions, PosternCallSettings } from './connection'
export { PosternEmbeddings, type PosternEmbeddingsFields } from './embeddings'
