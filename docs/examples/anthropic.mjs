// The official @anthropic-ai/sdk package: only the base URL and the API key are Postern's.
import Anthropic from '@anthropic-ai/sdk'
import { apiKey, baseURL } from './postern.mjs'

const client = new Anthropic({ baseURL, apiKey })

const stream = client.messages
  .stream({
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Say this is a test' }],
  })
  .on('text', (text) => process.stdout.write(text))
await stream.finalMessage()
process.stdout.write('\n')
