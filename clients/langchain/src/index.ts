/** A chat model and embeddings for LangChain that use a Postern gateway. */
export { ChatPostern, type ChatPosternCallOptions, type ChatPosternFields } from './chat.js'
export type { ConnectionOptions, PosternCallSettings } from './connection.js'
export { PosternEmbeddings, type PosternEmbeddingsFields } from './embeddings.js'
