import { type Bytes, NO_BYTES } from './abi.ts'

const FIRST_CHUNK_BYTES = 16 << 10
// A result that would waste more than this of its backing buffer is copied.
const SLACK_BYTES = 1 << 10
// The server drains this much of an unread body. Beyond it the server closes the connection, and a client that is still
// sending never sees the response.
const SERVER_DRAINS_BYTES = 64 << 10
const DRAIN_BYTES = 8 << 20

interface ReadResult {
  done: boolean
  value?: Bytes
}

/**
 * Reads a body whose declared length is within the limit in one platform call, which takes a fifth of the time of a
 * reader. Returns undefined if the body must be read in chunks, because its length is unknown, or because
 * the declared length is that of its compressed form.
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
 * returns the available bytes; without it, each read fills a buffer, which takes fewer turns.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  hint: number,
  onBytes?: () => void,
): Promise<Bytes | undefined> {
  if (body === null) return NO_BYTES
  const reader = body.getReader({ mode: 'byob' })
  // One byte more than the limit, to detect a longer body.
  let buffer: Bytes = new Uint8Array(Math.min(limit, hint > 0 ? hint : FIRST_CHUNK_BYTES) + 1)
  let length = 0
  for (;;) {
    const space = buffer.subarray(length)
    const least = onBytes === undefined ? space.length : 1
    const { done, value } = (await reader.readAtLeast(least, space)) as ReadResult
    if (value === undefined) throw new Error('the body was canceled')
    buffer = new Uint8Array(value.buffer) // the read detached the old one
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

/**
 * The unread request body, if the response must wait until it is drained. Measured: the body property makes a stream object,
 * so it comes last.
 */
export function undrained(request: Request): ReadableStream<Uint8Array> | undefined {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) <= SERVER_DRAINS_BYTES) return undefined
  if (request.bodyUsed || request.body === null || request.body.locked) return undefined
  return request.body
}

/** Drains an unread body, up to a limit. */
export async function drain(reader: ReadableStreamReader): Promise<void> {
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

/** The declared content-length, or 0. */
export function lengthHint(headers: Headers): number {
  return Number(headers.get('content-length') ?? 0) || 0
}

/** Concatenates pieces. A single piece is not copied. */
export function joined(pieces: Bytes[]): Bytes {
  if (pieces.length === 1) return pieces[0] as Bytes
  let length = 0
  for (const piece of pieces) length += piece.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
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
