// Prompts of the AI SDK's specification v3, which the adapter's models take, in the form of v4, which they are made from.
import type { LanguageModelV3FilePart, LanguageModelV3Prompt, LanguageModelV4Prompt } from '@ai-sdk/provider'

type FileData = LanguageModelV3FilePart['data'] | { type: string }

/**
 * Marks the data of files as v4 has it. The rest is the same in both, or stays as it is: a tool's result becomes a text
 * anyway. `ai` 7 hands over references and texts as v4 has them.
 */
export function marked(prompt: LanguageModelV3Prompt): LanguageModelV4Prompt {
  return prompt.map((message) => {
    if (message.role === 'system') return message
    const content = message.content.map((part) => (part.type === 'file' ? { ...part, data: tagged(part.data) } : part))
    return { ...message, content }
  }) as LanguageModelV4Prompt
}

function tagged(data: FileData): object {
  if (data instanceof URL) return { type: 'url', url: data }
  return typeof data === 'string' || data instanceof Uint8Array ? { type: 'data', data } : data
}
