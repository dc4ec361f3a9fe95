// The Vercel AI SDK: only the base URL and the key are Postern's.
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

const openai = createOpenAI({
  baseURL: `${process.env.POSTERN_URL ?? 'http://127.0.0.1:8787'}/v1`,
  apiKey: process.env.POSTERN_KEY,
})

const { textStream } = streamText({ model: openai('gpt-4o'), prompt: 'Say this is a test' })
for await (const text of textStream) process.stdout.write(text)
process.stdout.write('\n')
