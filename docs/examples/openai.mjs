// The official openai package: only the base URL and the key are Postern's.
import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: `${process.env.POSTERN_URL ?? 'http://127.0.0.1:8787'}/v1`,
  apiKey: process.env.POSTERN_KEY,
})

const stream = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Say this is a test' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
process.stdout.write('\n')
