import { postern } from '@postern-ai/ai-sdk'
import { generateText, wrapLanguageModel } from 'ai'

const middleware = { specificationVersion: 'v3', overrideSupportedUrls: () => ({}) }
const model = wrapLanguageModel({ model: postern('gpt-4.1-mini'), middleware })
const image = { type: 'image', image: new URL(process.argv[2]) }
const { text } = await generateText({ model, messages: [{ role: 'user', content: [image] }] })
console.log(text)
