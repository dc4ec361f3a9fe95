import { type Bytes, EVENT_BODY, EVENT_RESPONSE, type Event, NO_BYTES, OUTCOME_OK, type Part } from './abi.ts'
import type { Task } from './tasks.ts'

const FIRST_BYTES = 4 << 10

/** The buffers of one exchange by number. */
export class Buffers {
  private readonly contents = new Map<number, Bytes>()
  // Only a few exchanges append to a buffer.
  private growing: Map<number, GrowingBuffer> | undefined

  /** A buffer that was never written is empty. */
  get(number: number): Bytes {
    return this.contents.get(number) ?? NO_BYTES
  }

  set(number: number, content: Bytes): void {
    this.contents.set(number, content)
    this.growing?.delete(number)
  }

  append(number: number, data: Bytes): void {
    this.growing ??= new Map()
    const buffer = this.growing.get(number) ?? new GrowingBuffer(this.get(number))
    this.growing.set(number, buffer)
    this.contents.set(number, buffer.append(data))
  }

  /** Stores the body of a task's result in its buffer. */
  keep({ buffer }: Task, { kind, code, data }: Event): void {
    if (kind === EVENT_RESPONSE || (kind === EVENT_BODY && code === OUTCOME_OK)) this.set(buffer, data)
  }

  /** A body that consists of one buffer is the buffer itself. Any other body is a copy. */
  body(parts: Part[]): Bytes {
    const [first] = parts
    if (first === undefined) return NO_BYTES
    if (parts.length > 1) return joined(parts.map(({ buffer, data }) => (buffer === 0 ? data : this.get(buffer))))
    return first.buffer === 0 ? first.data.slice() : this.get(first.buffer)
  }
}

/** A growing buffer that doubles when it is full. */
class GrowingBuffer {
  private bytes: Bytes = NO_BYTES
  private length = 0

  constructor(content: Bytes) {
    this.append(content)
  }

  /** Appends a chunk. Returns the full content, which is valid until the next call. */
  append(piece: Bytes): Bytes {
    const length = this.length + piece.length
    if (length > this.bytes.length) {
      const grown = new Uint8Array(Math.max(FIRST_BYTES, length, this.bytes.length * 2))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(piece, this.length)
    this.length = length
    return this.bytes.subarray(0, length)
  }
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
