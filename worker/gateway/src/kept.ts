import { type Bytes, NO_BYTES } from './abi.ts'

const FIRST_BYTES = 512

/** A byte string that is replaced often. It stays in one buffer: every other Uint8Array would allocate its own. */
export class Kept {
  /** The content, valid until the next call of replace. */
  bytes: Bytes = NO_BYTES
  private buffer: Bytes = NO_BYTES

  /** Copies the content. */
  replace(bytes: Bytes): void {
    const { length } = bytes
    if (length > this.buffer.length) this.buffer = new Uint8Array(Math.max(FIRST_BYTES, length * 2))
    this.buffer.set(bytes)
    this.bytes = this.buffer.subarray(0, length)
  }
}
