// The Vercel AI SDK: only the base URL and the API key are Postern's.
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import { apiKey, baseURL } from './postern.mjs'

const openai = createOpenAI({ baseURL: `${baseURL}/v1`, apiKey })

const { textStream } = streamText({ model: openai('gpt-4o'), prompt: 'Say this is a test' })
for await (const text of textStream) process.stdout.write(text)
process.stdout.write('\n')
