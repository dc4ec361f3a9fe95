import type { Bytes } from './abi.ts'

const DRAWN_BYTES = 4 << 10

/**
 * Cryptographic randomness. A call to the platform costs far more than the bytes, so one call generates the bytes for
 * many requests.
 */
export class Randomness {
  private drawn: Bytes = new Uint8Array(DRAWN_BYTES)
  private used = DRAWN_BYTES

  /** Returns at most 4 KiB of bytes that no other call returns. It works only in a request. */
  take(length: number): Bytes {
    if (this.used + length > DRAWN_BYTES) {
      crypto.getRandomValues(this.drawn)
      this.used = 0
    }
    this.used += length
    return this.drawn.slice(this.used - length, this.used)
  }
}
