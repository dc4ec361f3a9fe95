import type { Bytes } from './abi.ts'
import { joined } from './body.ts'
import { clock } from './clock.ts'

// Chunks that arrive within this time of each other are a burst. Each waits for what has arrived too; from BURST_CHUNKS on it
// also waits this long for the next ones, because the step and the write cost far more than the bytes.
const BURST_MS = 2
const BURST_CHUNKS = 4

/** Takes a chunk, whose memory is reused for the next one. The next one is passed when the returned promise settles. */
type Take = (data: Bytes) => Promise<void> | undefined

/** Bytes of a stream that have arrived but were not delivered yet, because the sink is still taking the last chunk. */
export class Pieces {
  /** Settles when there is room again; undefined while there is room. */
  room: Promise<void> | undefined
  private makeRoom: (() => void) | undefined
  private held: Bytes[] = []
  private bytes = 0
  private taking: Promise<void> | undefined
  private lastMs = 0
  // Chunks in a row that arrived soon after the one before.
  private burst = 0
  private readonly take: Take
  private readonly limit: number

  constructor(take: Take, limit: number) {
    this.take = take
    this.limit = limit
  }

  add(piece: Bytes): void {
    const now = clock.now()
    this.burst = now - this.lastMs < BURST_MS ? this.burst + 1 : 0
    this.lastMs = now
    if (this.taking === undefined && this.held.length === 0) {
      if (this.burst === 0) {
        this.hand(piece)
        return
      }
      // More bytes have likely arrived: the platform reads one HTTP chunk at a time.
      this.taking = scheduler.wait(this.burst < BURST_CHUNKS ? 0 : BURST_MS).then(() => this.taken())
    }
    this.held.push(piece.slice())
    this.bytes += piece.length
    if (this.bytes >= this.limit) {
      this.room = new Promise((resolve) => {
        this.makeRoom = resolve
      })
    }
  }

  /** Resolves when the sink has taken everything. */
  async end(): Promise<void> {
    while (this.taking !== undefined) await this.taking
  }

  private hand(piece: Bytes): void {
    this.taking = this.take(piece)?.then(() => this.taken())
  }

  private taken(): void {
    this.taking = undefined
    if (this.held.length === 0) return
    const piece = joined(this.held)
    this.held = []
    this.bytes = 0
    this.room = undefined
    this.makeRoom?.()
    this.hand(piece)
  }
}
