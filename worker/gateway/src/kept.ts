import { type Bytes, NO_BYTES } from './abi.ts'

const FIRST_BYTES = 512
// Most contents fit into a first buffer. Many first buffers share one allocation of this size.
const SLAB_BYTES = 16 << 10

let slab: Bytes = NO_BYTES
let slabUsed = 0

/**
 * A byte string that is replaced often. All its values use one buffer, because a new Uint8Array for each value would
 * be an allocation each time.
 */
export class Kept {
  /** The content. It is valid until the next call of replace. */
  bytes: Bytes = NO_BYTES
  private buffer: Bytes = NO_BYTES

  /** Copies the content. */
  replace(bytes: Bytes): void {
    const { length } = bytes
    if (length > this.buffer.length) this.buffer = room(length)
    this.buffer.set(bytes)
    this.bytes = this.buffer.subarray(0, length)
  }
}

function room(length: number): Bytes {
  if (length > FIRST_BYTES) return new Uint8Array(length * 2)
  if (slabUsed + FIRST_BYTES > slab.length) {
    slab = new Uint8Array(SLAB_BYTES)
    slabUsed = 0
  }
  slabUsed += FIRST_BYTES
  return slab.subarray(slabUsed - FIRST_BYTES, slabUsed)
}
