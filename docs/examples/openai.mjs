// The official openai package: only the base URL and the API key are Postern's.
import OpenAI from 'openai'
import { apiKey, baseURL } from './postern.mjs'

const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey })

const stream = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Say this is a test' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
process.stdout.write('\n')
