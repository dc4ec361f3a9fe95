/** The place of an exchange in a queue. */
export interface Place {
  woken: boolean
}

/** The exchanges that wait for a step to wake them, by the key of their pinned entry; see ACTION_WAIT. */
export class Queues {
  private readonly waiting = new Map<string, Place[]>()

  join(key: string, place: Place, first: boolean): void {
    const all = this.waiting.get(key)
    if (all === undefined) this.waiting.set(key, [place])
    else if (first) all.unshift(place)
    else all.push(place)
  }

  /** Has no effect if the exchange was woken. */
  leave(key: string, place: Place): void {
    const all = this.waiting.get(key) ?? []
    const at = all.indexOf(place)
    if (at >= 0) all.splice(at, 1)
    if (all.length === 0) this.waiting.delete(key)
  }

  /** Wakes the first exchanges, at most `count`. */
  wake(key: string, count: number): void {
    const all = this.waiting.get(key)
    if (all === undefined) return
    for (const place of all.splice(0, count)) place.woken = true
    if (all.length === 0) this.waiting.delete(key)
  }
}
