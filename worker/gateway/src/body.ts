import { type Bytes, NO_BYTES } from './abi.ts'

const FIRST_CHUNK_BYTES = 16 << 10
// A result that wastes more than this of its backing buffer is copied out of it.
const SLACK_BYTES = 1 << 10
// The server itself reads so much of a body that nobody wanted; with more to come it closes the connection,
// and a caller that is still sending never sees its answer.
const SERVER_DRAINS_BYTES = 64 << 10
const DRAIN_BYTES = 8 << 20

interface ReadResult {
  done: boolean
  value?: Bytes
}

/**
 * Reads the body of a message whose length is declared and within the limit, in one call of the platform's:
 * a fifth of the time that a reader takes. Undefined if it has to be read piece by piece, because its length
 * is not known, or is that of its compressed form.
 */
export function readDeclared(message: Request | Response, limit: number): Promise<ArrayBuffer> | undefined {
  const { headers } = message
  const length = headers.get('content-length')
  if (message.body === null || length === null || headers.has('content-encoding')) return undefined
  return Number(length) <= limit ? message.arrayBuffer() : undefined
}

/**
 * Reads a body to its end, at most limit bytes of it: undefined if there are more, and then the rest is
 * drained. The hint, from content-length, only sizes the first buffer: what counts is what arrives.
 * With onBytes, which is called after every read that brought some, it reads what is there at a time;
 * without, a buffer at a time, which takes fewer turns.
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  hint: number,
  onBytes?: () => void,
): Promise<Bytes | undefined> {
  if (body === null) return NO_BYTES
  const reader = body.getReader({ mode: 'byob' })
  // One byte more than may come: a read of it proves that the body is too long.
  let buffer: Bytes = new Uint8Array(Math.min(limit, hint > 0 ? hint : FIRST_CHUNK_BYTES) + 1)
  let length = 0
  for (;;) {
    const space = buffer.subarray(length)
    const least = onBytes === undefined ? space.length : 1
    const { done, value } = (await reader.readAtLeast(least, space)) as ReadResult
    if (value === undefined) throw new Error('the body was cancelled')
    buffer = new Uint8Array(value.buffer) // the read took the old one away
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

/** Whether the answer to a request must wait until its unread body is drained. */
export function mustDrain(request: Request): boolean {
  if (request.body === null || request.bodyUsed || request.body.locked) return false
  const length = request.headers.get('content-length')
  return length === null || !(Number(length) <= SERVER_DRAINS_BYTES)
}

/** Reads a body that nobody wants, up to a bound. */
export async function drain(reader: ReadableStreamReader): Promise<void> {
  try {
    for (let left = DRAIN_BYTES; left > 0; ) {
      const { done, value } = await reader.read(new Uint8Array(FIRST_CHUNK_BYTES))
      if (done) return
      left -= value.length
    }
    await reader.cancel()
  } catch {
    // The caller has given up.
  }
}

type ReadableStreamReader = Pick<ReadableStreamBYOBReader, 'read' | 'cancel'>

/** The content-length of a message, 0 if there is none. */
export function lengthHint(headers: Headers): number {
  return Number(headers.get('content-length') ?? 0) || 0
}

/** One body out of several pieces; a single piece is not copied. */
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
