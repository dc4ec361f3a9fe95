/** The exchanges that wait for a step to wake them, by the key of their pinned entry; see ACTION_WAIT. */
export class Queues {
  private readonly waiting = new Map<string, (() => void)[]>()

  join(key: string, wake: () => void, first: boolean): void {
    const all = this.waiting.get(key)
    if (all === undefined) this.waiting.set(key, [wake])
    else if (first) all.unshift(wake)
    else all.push(wake)
  }

  /** Has no effect if the exchange was woken. */
  leave(key: string, wake: () => void): void {
    const all = this.waiting.get(key) ?? []
    const at = all.indexOf(wake)
    if (at >= 0) all.splice(at, 1)
    if (all.length === 0) this.waiting.delete(key)
  }

  /** Wakes the first exchanges, at most `count`. */
  wake(key: string, count: number): void {
    const all = this.waiting.get(key)
    if (all === undefined) return
    for (const wake of all.splice(0, count)) wake()
    if (all.length === 0) this.waiting.delete(key)
  }
}
