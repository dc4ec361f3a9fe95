import { POST_TIMEOUT_MS, type Post } from './abi.ts'
import { httpHeaders } from './upstream.ts'

/** Sends a Post once. Returns the response status, or 0 if there was none. The error is dropped: it can contain the URL. */
export async function sendPost({ url, headers, body }: Post): Promise<number> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: httpHeaders(headers),
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(POST_TIMEOUT_MS),
    })
    void response.body?.cancel().catch(() => undefined)
    return response.status
  } catch {
    return 0
  }
}
