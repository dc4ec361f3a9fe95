import { postern } from '@postern-ai/ai-sdk'
import { streamText } from 'ai'

const result = streamText({ model: postern('gpt-4.1-mini'), prompt: 'Say this is a test' })
for await (const text of result.textStream) process.stdout.write(text)

const { requestId, model } = (await result.providerMetadata).postern
console.log(`\n${model}, ${requestId}`)
