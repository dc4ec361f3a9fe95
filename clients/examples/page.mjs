import { ChatError, chat } from '@postern-ai/client/browser'

export async function ask(question, output) {
  try {
    const messages = [{ role: 'user', content: question }]
    for await (const text of chat('/api/chat', { messages })) output.append(text)
  } catch (error) {
    if (!(error instanceof ChatError)) throw error
    output.append(
      error.code === 'rate_limited' ? 'One moment, please.' : `That failed (${error.requestId ?? error.code}).`,
    )
  }
}
