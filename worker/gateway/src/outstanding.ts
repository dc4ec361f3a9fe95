import type { Upstream } from './upstream.ts'

/** An action whose result has not been stepped yet, with its cancel function if it can be canceled. */
export interface Pending {
  readonly id: number
  readonly giveUp: (() => void) | undefined
  /** Of a fetch. */
  readonly upstream: Upstream | undefined
}

/**
 * The actions in flight of one exchange. There are few at a time, so an array is searched: measured, a Map that empties again
 * and again costs more, because V8 shrinks it each time.
 */
export class Outstanding {
  private readonly pending: Pending[] = []

  get size(): number {
    return this.pending.length
  }

  find(id: number): Pending | undefined {
    for (const pending of this.pending) if (pending.id === id) return pending
    return undefined
  }

  /** Replaces a pending action of the same ID. */
  add(id: number, giveUp?: () => void, upstream?: Upstream): Pending {
    this.remove(id)
    const pending = { id, giveUp, upstream }
    this.pending.push(pending)
    return pending
  }

  remove(id: number): void {
    const at = this.pending.findIndex((pending) => pending.id === id)
    if (at >= 0) this.pending.splice(at, 1)
  }

  /** Cancels an action: its result, if one comes, is ignored. */
  cancel(id: number): void {
    this.find(id)?.giveUp?.()
    this.remove(id)
  }

  /** Cancels the actions that can be canceled. */
  cancelAll(): void {
    for (const { id, giveUp } of [...this.pending]) if (giveUp !== undefined) this.cancel(id)
  }
}
