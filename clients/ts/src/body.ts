// Reads a response's entire body, up to a limit.
import { InvalidResponseError } from './errors.js'

/** Largest body of a response, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024

/**
 * Reads the body as text. Throws InvalidResponseError if the body is too large. Errors from the transport are passed
 * on.
 */
export async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true }) // a byte order mark must stay, because an export's lines are hashed byte for byte
  let text = ''
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel().catch(() => {})
      const requestId = response.headers.get('x-request-id')
      throw new InvalidResponseError('The response is larger than 64 MiB', { status: response.status, requestId })
    }
    text += decoder.decode(value, { stream: true })
  }
}
