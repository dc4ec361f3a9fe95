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
// A result that would waste more than this of its backing buffer is copied.
const SLACK_BYTES = 1 << 10
// The server drains this much of an unread body. Beyond that, it closes the connection, and a client that is still
// sending never sees the response.
const SERVER_DRAINS_BYTES = 64 << 10

interface ReadResult {
  done: boolean
  value?: Bytes
}

/** The body of the caller's request. */
export class RequestBody {
  private readonly request: Request
  // Settles when the body has been read. It is undefined if no read is in progress.
  private reading: Promise<void> | undefined

  constructor(request: Request) {
    this.request = request
  }

  read(action: Action, tasks: Tasks): void {
    this.reading = tasks.start(action, (answer) => this.readAll(action.limit, answer))
  }

  private async readAll(limit: number, answer: Answer): Promise<void> {
    const { request } = this
    let body: Bytes | undefined
    try {
      const declared = readDeclared(request, limit)
      body =
        declared === undefined
          ? await readBody(request.body, limit, lengthHint(request.headers))
          : new Uint8Array(await declared)
    } catch {
      this.reading = undefined
      return answer(EVENT_BODY, OUTCOME_FAILED)
    }
    this.reading = undefined
    if (body === undefined) return answer(EVENT_BODY, OUTCOME_TOO_LARGE)
    answer(EVENT_BODY, OUTCOME_OK, body)
  }

  /**
   * Reads the rest of the body if the core has canceled its read or never started one. Returns undefined if the
   * response does not have to wait for it.
   */
  unread(): Promise<void> | undefined {
    if (this.reading !== undefined) return this.reading
    const body = undrained(this.request)
    return body && drain(body.getReader({ mode: 'byob' }))
  }
}

/**
 * If the declared length of a body is within the limit, reads the body in one platform call, which takes a fifth of
 * the time of a reader. Returns undefined if the body must be read in chunks because its length is too large or
 * unknown, or the declared length is that of its compressed form.
 */
export function readDeclared(message: Request | Response, limit: number): Promise<ArrayBuffer> | undefined {
  const { headers } = message
  const length = headers.get('content-length')
  if (length === null || headers.has('content-encoding')) return undefined
  return Number(length) <= limit ? message.arrayBuffer() : undefined
}

/**
 * Reads a body of at most limit bytes. Returns undefined, and drains the rest, if the body is longer. The hint, from
 * content-length, only sizes the first buffer. With onBytes, which is called after every non-empty read, each read
 * returns the available bytes. Without it, each read fills a buffer, which takes fewer turns.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  hint: number,
  onBytes?: () => void,
): Promise<Bytes | undefined> {
  if (body === null) return NO_BYTES
  const reader = body.getReader({ mode: 'byob' })
  // One byte more than the limit, to detect a body that is longer.
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

// Returns the unread request body if the response must wait until it is drained. The body property is checked last,
// because measurements show that reading it creates a stream object.
function undrained(request: Request): ReadableStream<Uint8Array> | undefined {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) <= SERVER_DRAINS_BYTES) return undefined
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

/** Returns the declared content-length, or 0. */
export function lengthHint(headers: Headers): number {
  return Number(headers.get('content-length') ?? 0) || 0
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
