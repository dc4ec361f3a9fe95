import { type Bytes, NO_BYTES } from './abi.ts'

/** The body of an answer that is sent piece by piece. */
export class CallerStream {
  readonly body: ReadableStream<Uint8Array>
  /** Settled when all that was sent so far is on its way to the caller; it never rejects. */
  drained: Promise<void> | undefined
  private readonly writer: WritableStreamDefaultWriter<Uint8Array>
  private readonly lastWords: Bytes
  private readonly onLeft: () => void
  private readonly onOver: () => void
  private over = false

  /** onLeft is called once if the caller leaves before the end, onOver once when nothing more is to be done. */
  constructor(lastWords: Bytes, onLeft: () => void, onOver: () => void) {
    // Measured: a manual writer on an identity stream costs half of what a TransformStream does.
    const { readable, writable } = new IdentityTransformStream()
    this.body = readable
    this.writer = writable.getWriter()
    this.lastWords = lastWords
    this.onLeft = onLeft
    this.onOver = onOver
    this.writer.closed.catch(() => this.leave())
  }

  send(piece: Bytes): void {
    if (this.over || piece.length === 0) return
    this.drained = this.writer.write(piece).catch(() => this.leave())
  }

  close(): void {
    if (this.over) return
    this.over = true
    this.drained = this.writer.close().then(this.onOver, this.onOver)
  }

  /** Ends the body in place of a core that could not. */
  giveUp(): void {
    this.send(this.lastWords)
    this.close()
  }

  leave(): void {
    if (this.over) return
    this.over = true
    void this.writer.abort().catch(() => undefined)
    this.onLeft()
    this.onOver()
  }
}

const FIRST_BYTES = 4 << 10

/** A buffer that is added to: twice as large whenever it is full. */
export class GrowingBuffer {
  private bytes: Bytes = NO_BYTES
  private length = 0

  /** Adds a piece; the result, which is all of it, stands until the next. */
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
