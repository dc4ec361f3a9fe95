import { createPostern, PosternCallError } from '@postern-ai/ai-sdk'
import { generateText } from 'ai'

const postern = createPostern({ governor: { strictMode: true } })
try {
  const { text, providerMetadata } = await generateText({
    model: postern('gpt-4.1-mini'),
    prompt: 'Say this is a test',
    providerOptions: { postern: { cacheControl: 'no-store', idempotency: true } },
  })
  console.log(text, providerMetadata.postern.costCents)
} catch (error) {
  if (!(error instanceof PosternCallError)) throw error
  console.log(error.code, error.requestId, error.findings)
}
