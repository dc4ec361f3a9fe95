// Converts prompts from the AI SDK's specification v3 to v4. The adapter's models accept v3, and the models that they
// use need v4.
import type { LanguageModelV3FilePart, LanguageModelV3Prompt, LanguageModelV4Prompt } from '@ai-sdk/provider'

type FileData = LanguageModelV3FilePart['data'] | { type: string }

/**
 * Tags the data of files as v4 requires. The results of tools keep their v3 form, because they become strings anyway.
 * Everything else is the same in v3 and v4. `ai` 7 already passes references and texts in the v4 form.
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
