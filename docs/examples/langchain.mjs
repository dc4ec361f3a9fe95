// LangChain: only the base URL and the API key are Postern's.
import { ChatOpenAI } from '@langchain/openai'
import { apiKey, baseURL } from './postern.mjs'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  apiKey,
  configuration: { baseURL: `${baseURL}/v1` },
})

for await (const chunk of await model.stream('Say this is a test')) process.stdout.write(chunk.content)
process.stdout.write('\n')
