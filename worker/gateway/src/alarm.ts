/** An object's one alarm. */
export interface Alarm {
  /** Sets the alarm to a time, unless it is already set to an earlier one. */
  atLatest(ms: number): void
  /** Marks the alarm as fired: none is set anymore. */
  rang(): void
}

/** The platform's alarm. Its time is cached in memory, because reading costs a row read and setting a row write. */
export class StoredAlarm implements Alarm {
  private readonly ctx: DurableObjectState
  private standingMs = 0

  constructor(ctx: DurableObjectState) {
    this.ctx = ctx
    void ctx.blockConcurrencyWhile(async () => {
      this.standingMs = (await ctx.storage.getAlarm()) ?? 0
    })
  }

  atLatest(ms: number): void {
    if (this.standingMs !== 0 && this.standingMs <= ms) return
    this.standingMs = ms
    this.ctx.waitUntil(this.ctx.storage.setAlarm(ms))
  }

  rang(): void {
    this.standingMs = 0
  }
}
