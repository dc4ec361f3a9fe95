// LangChain: only the base URL and the key are Postern's.
import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  apiKey: process.env.POSTERN_KEY,
  configuration: { baseURL: `${process.env.POSTERN_URL ?? 'http://127.0.0.1:8787'}/v1` },
})

for await (const chunk of await model.stream('Say this is a test')) process.stdout.write(chunk.content)
process.stdout.write('\n')
