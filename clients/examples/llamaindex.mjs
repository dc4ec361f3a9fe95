import { OpenAI, OpenAIEmbedding } from '@llamaindex/openai'

const { POSTERN_API_KEY: apiKey, POSTERN_BASE_URL: url } = process.env
const llm = new OpenAI({ model: 'gpt-4.1-mini', apiKey, baseURL: `${url}/v1` })

const messages = [{ role: 'user', content: 'Say this is a test' }]
for await (const chunk of await llm.chat({ messages, stream: true })) process.stdout.write(chunk.delta)

const embedding = new OpenAIEmbedding({ model: 'text-embedding-3-small', apiKey, baseURL: `${url}/v1` })
const vector = await embedding.getTextEmbedding('Say this is a test')
console.log(`\n${vector.length > 0}`)
