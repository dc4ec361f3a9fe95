/** Chat model and embeddings of a Postern gateway for LangChain. */
export { ChatPostern, type ChatPosternCallOptions, type ChatPosternFields } from './chat.js'
export type { ConnectionOptions, PosternCallSettings } from './connection.js'
export { PosternEmbeddings, type PosternEmbeddingsFields } from './embeddings.js'
