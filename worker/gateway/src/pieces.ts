import type { Bytes } from './abi.ts'
import { joined } from './buffers.ts'
import { clock } from './clock.ts'

// If chunks arrive within BURST_MS of each other, they are a burst. In a burst, a chunk is joined with others that
// have already arrived. After BURST_CHUNKS chunks, each chunk also waits BURST_MS for the next ones: the step and the
// write cost far more than the bytes.
const BURST_MS = 2
const BURST_CHUNKS = 4

/** Takes a chunk. Its memory is reused for the next chunk, which is passed when the returned promise settles. */
type Take = (data: Bytes) => Promise<void> | undefined

/**
 * The bytes of a stream that have arrived and are not delivered yet. Either the sink is still taking the last chunk, or
 * more bytes are likely to follow soon.
 */
export class Pieces {
  /** Settles when there is room again. Undefined while there is room. */
  room: Promise<void> | undefined
  private makeRoom: (() => void) | undefined
  private held: Bytes[] = []
  private bytes = 0
  private taking: Promise<void> | undefined
  // True if the held bytes wait only for more bytes: the sink could take them.
  private gathering = false
  private lastMs = 0
  // The number of consecutive chunks that arrived soon after the previous one.
  private burst = 0
  private readonly take: Take
  private readonly full: number

  /** There is no room while at least `full` bytes are held. */
  constructor(take: Take, full: number) {
    this.take = take
    this.full = full
  }

  add(piece: Bytes): void {
    const now = clock.now()
    this.burst = now - this.lastMs < BURST_MS ? this.burst + 1 : 0
    this.lastMs = now
    if (this.taking === undefined) {
      if (this.burst === 0) {
        this.hand(piece)
        return
      }
      this.gather()
    }
    this.held.push(piece.slice())
    this.bytes += piece.length
    if (this.bytes >= this.full) this.fill()
  }

  /** Delivers the held bytes without waiting until the sink has taken the last chunk, because no bytes follow. */
  end(): void {
    this.deliver()
  }

  // The platform reads one HTTP chunk at a time, so more bytes have probably arrived already.
  private gather(): void {
    this.gathering = true
    const taking = scheduler.wait(this.burst < BURST_CHUNKS ? 0 : BURST_MS).then(() => {
      if (this.taking === taking) this.taken()
    })
    this.taking = taking
  }

  private fill(): void {
    if (this.gathering) {
      this.taken()
      return
    }
    this.room ??= new Promise((resolve) => {
      this.makeRoom = resolve
    })
  }

  private hand(piece: Bytes): void {
    const taking = this.take(piece)?.then(() => {
      if (this.taking === taking) this.taken()
    })
    this.taking = taking
  }

  private taken(): void {
    this.taking = undefined
    this.gathering = false
    this.deliver()
  }

  private deliver(): void {
    if (this.held.length === 0) return
    const piece = joined(this.held)
    this.held = []
    this.bytes = 0
    this.gathering = false
    this.room = undefined
    this.makeRoom?.()
    this.hand(piece)
  }
}
