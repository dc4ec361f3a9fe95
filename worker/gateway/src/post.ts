import { type Bytes, POST_TIMEOUT_MS, POSTS_AT_ONCE, type Post, Writer, writePosted } from './abi.ts'
import { httpHeaders } from './headers.ts'
import { logFailure } from './log.ts'

/**
 * Sends a Post once. Returns the response status, or 0 if there was no response. The error is dropped, because it can
 * contain the URL.
 */
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

/** The platform services that posts use. */
export interface PostPlatform {
  /** Returns the response status, or 0 if there was none. Never rejects. */
  post(post: Post): Promise<number>
  waitUntil(promise: Promise<void>): void
}

/** Sends the Posts of one object, and reports each status to the object. */
export class Posts {
  private readonly name: string
  private readonly platform: PostPlatform
  private readonly report: (posted: Bytes) => void
  private readonly turns = new Turns(POSTS_AT_ONCE)

  constructor(name: string, platform: PostPlatform, report: (posted: Bytes) => void) {
    this.name = name
    this.platform = platform
    this.report = report
  }

  send(posts: Post[]): void {
    for (const post of posts) this.platform.waitUntil(this.post(post))
  }

  // Waits at least a microtask, so that the reply is sent first. If the result does not reach the object,
  // the reducer's alarm notices.
  private async post(post: Post): Promise<void> {
    await this.turns.take()
    const status = await this.platform.post(post)
    this.turns.give()
    const w = new Writer()
    writePosted(w, { id: post.id, status })
    try {
      this.report(w.written())
    } catch (error) {
      logFailure('post_outcome_lost', { object: this.name }, error)
    }
  }
}

/** A FIFO counting semaphore. */
class Turns {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(free: number) {
    this.free = free
  }

  async take(): Promise<void> {
    if (this.free === 0) return await new Promise<void>((resolve) => this.waiting.push(resolve))
    this.free--
  }

  give(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.free++
    else next()
  }
}
