import {
  type Action,
  type Bytes,
  DRAIN_BYTES,
  EVENT_BODY,
  NO_BYTES,
  OUTCOME_FAILED,
  OUTCOME_OK,
  OUTCOME_TOO_LARGE,
} from './abi.ts'
import type { Answer, Tasks } from './tasks.ts'

const FIRST_CHUNK_BYTES = 16 << 10
// If a result would waste more bytes than this of its backing buffer, it is copied.
const SLACK_BYTES = 1 << 10
// The server drains this many bytes of an unread body. If more arrive, it closes the connection. A client that is
// still sending then never sees the response.
const SERVER_DRAINS_BYTES = 64 << 10

interface ReadResult {
  done: boolean
  value?: Bytes
}

/** The body of the caller's request. */
export class RequestBody {
  private readonly request: Request
  // The declared content-length.
  private readonly declared: string | null
  // Settles when the body has been read. It is undefined if no read is in progress.
  private reading: Promise<void> | undefined

  constructor(request: Request) {
    this.request = request
    this.declared = request.headers.get('content-length')
  }

  read(action: Action, tasks: Tasks): void {
    this.reading = tasks.start(action, (answer) => this.readAll(action.limit, answer))
  }

  private async readAll(limit: number, answer: Answer): Promise<void> {
    const { request, declared } = this
    let body: Bytes | undefined
    try {
      const short = readDeclared(request, declared, limit)
      body =
        short === undefined ? await readBody(request.body, limit, lengthHint(declared)) : new Uint8Array(await short)
    } catch {
      this.reading = undefined
      return answer(EVENT_BODY, OUTCOME_FAILED)
    }
    this.reading = undefined
    if (body === undefined) return answer(EVENT_BODY, OUTCOME_TOO_LARGE)
    answer(EVENT_BODY, OUTCOME_OK, body)
  }

  /**
   * Reads the rest of the body if the core has canceled its read or never started one. If the response does not have
   * to wait for it, returns undefined.
   */
  unread(): Promise<void> | undefined {
    if (this.reading !== undefined) return this.reading
    const body = undrained(this.request, this.declared)
    return body && drain(body.getReader({ mode: 'byob' }))
  }
}

/**
 * Reads the body in one platform call if its declared length is within the limit. This takes a fifth of the time of a
 * reader. If the body must be read in chunks, returns undefined. That is so if its length is too large or unknown, or
 * if the declared length is the length of the compressed body.
 */
export function readDeclared(
  message: Request | Response,
  declared: string | null,
  limit: number,
): Promise<ArrayBuffer> | undefined {
  if (declared === null || message.headers.has('content-encoding')) return undefined
  return Number(declared) <= limit ? message.arrayBuffer() : undefined
}

/**
 * Reads a body of at most limit bytes. If the body is longer, drains the rest and returns undefined. The hint is from
 * content-length and only sizes the first buffer. With onBytes, each read returns the bytes that are available, and
 * onBytes is called after every non-empty read. Without it, each read fills a buffer, which takes fewer turns.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  hint: number,
  onBytes?: () => void,
): Promise<Bytes | undefined> {
  if (body === null) return NO_BYTES
  const reader = body.getReader({ mode: 'byob' })
  // With one byte more than the limit, a body that is too long is detected.
  let buffer: Bytes = new Uint8Array(Math.min(limit, hint > 0 ? hint : FIRST_CHUNK_BYTES) + 1)
  let length = 0
  for (;;) {
    const space = buffer.subarray(length)
    const least = onBytes === undefined ? space.length : 1
    const { done, value } = (await reader.readAtLeast(least, space)) as ReadResult
    if (value === undefined) throw new Error('the body was canceled')
    buffer = new Uint8Array(value.buffer) // the read has detached the old one
    length += value.length
    if (length > limit) {
      await drain(reader)
      return undefined
    }
    if (done || value.length < least) return trimmed(buffer, length)
    if (length === buffer.length) buffer = grown(buffer, limit)
    onBytes?.()
  }
}

// Returns the unread request body if the response must wait until it is drained. The body property is checked last:
// measurements show that reading this property creates a stream object.
function undrained(request: Request, declared: string | null): ReadableStream<Uint8Array> | undefined {
  if (declared !== null && Number(declared) <= SERVER_DRAINS_BYTES) return undefined
  if (request.bodyUsed || request.body === null || request.body.locked) return undefined
  return request.body
}

// Drains an unread body, up to a limit.
async function drain(reader: ReadableStreamReader): Promise<void> {
  try {
    for (let left = DRAIN_BYTES; left > 0; ) {
      const { done, value } = await reader.read(new Uint8Array(FIRST_CHUNK_BYTES))
      if (done) return
      left -= value.length
    }
    await reader.cancel()
  } catch {
    // The client disconnected.
  }
}

type ReadableStreamReader = Pick<ReadableStreamBYOBReader, 'read' | 'cancel'>

/** Returns the declared content-length as a number, or 0. */
export function lengthHint(declared: string | null): number {
  return Number(declared ?? 0) || 0
}

function grown(buffer: Bytes, limit: number): Bytes {
  const larger = new Uint8Array(Math.min(buffer.length * 2, limit + 1))
  larger.set(buffer)
  return larger
}

function trimmed(buffer: Bytes, length: number): Bytes {
  const part = buffer.subarray(0, length)
  return buffer.length - length > SLACK_BYTES ? part.slice() : part
}
