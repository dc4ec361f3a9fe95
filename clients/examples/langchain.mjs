import { tool } from '@langchain/core/tools'
import { ChatPostern, PosternEmbeddings } from '@postern-ai/langchain'
import { z } from 'zod'

const model = new ChatPostern({ model: 'gpt-4.1-mini' })
for await (const chunk of await model.stream('Say this is a test')) process.stdout.write(chunk.text)

const message = await model.invoke('Say this is a test', { postern: { cacheControl: 'no-store' } })
console.log(`\n${message.usage_metadata.total_tokens} tokens, ${message.response_metadata.postern.costCents} cents`)

const weather = tool(({ city }) => `21 degrees in ${city}`, { name: 'weather', schema: z.object({ city: z.string() }) })
const { tool_calls } = await model.bindTools([weather]).invoke('What is the weather in Paris?')
console.log(tool_calls[0].name)

const vector = await new PosternEmbeddings({ model: 'text-embedding-3-small' }).embedQuery('Say this is a test')
console.log(vector.length > 0)
