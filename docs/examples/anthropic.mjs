// The official @anthropic-ai/sdk package: only the base URL and the key are Postern's.
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: process.env.POSTERN_URL ?? 'http://127.0.0.1:8787',
  apiKey: process.env.POSTERN_KEY,
})

const stream = client.messages
  .stream({
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Say this is a test' }],
  })
  .on('text', (text) => process.stdout.write(text))
await stream.finalMessage()
process.stdout.write('\n')
