import type { Bytes } from './abi.ts'

const DRAWN_BYTES = 4 << 10

/** Cryptographic randomness, drawn for many requests at once: a call of the platform costs far more than its bytes. */
export class Randomness {
  private drawn: Bytes = new Uint8Array(DRAWN_BYTES)
  private used = DRAWN_BYTES

  /** Returns bytes that are given out only once. Not for more than 4 KiB, and only in a request. */
  take(length: number): Bytes {
    if (this.used + length > DRAWN_BYTES) {
      crypto.getRandomValues(this.drawn)
      this.used = 0
    }
    this.used += length
    return this.drawn.slice(this.used - length, this.used)
  }
}
