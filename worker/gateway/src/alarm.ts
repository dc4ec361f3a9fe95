/** The alarm of an object. Each object has one. */
export interface Alarm {
  /** Sets the alarm to a time, unless it is already set to an earlier one. */
  atLatest(ms: number): void
  /** Marks the alarm as fired. After this, no alarm is set. */
  rang(): void
}

/**
 * The platform's alarm. Its time is cached in memory: each read is billed as a row read, and each change as a row
 * write.
 */
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
