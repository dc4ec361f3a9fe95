import { logFailure } from './log.ts'

/** The part of the platform's execution context that an exchange uses. */
export type Lifetime = Pick<ExecutionContext, 'waitUntil'>

/** The work of one exchange that must finish even though the core waits for no event from it. */
export class Working {
  private readonly lifetime: Lifetime
  private readonly requestId: string
  private readonly onDone: () => void
  private count = 0
  private finish: (() => void) | undefined

  /** onDone is called whenever some work is done. */
  constructor(lifetime: Lifetime, requestId: string, onDone: () => void) {
    this.lifetime = lifetime
    this.requestId = requestId
    this.onDone = onDone
  }

  get idle(): boolean {
    return this.count === 0
  }

  add(): void {
    this.count++
  }

  done(): void {
    this.count--
    this.onDone()
  }

  /** Counts a promise as work. If the promise rejects, the failure is logged with this code. */
  async go(code: string, work: Promise<unknown>): Promise<void> {
    this.outlive()
    this.count++
    try {
      await work
    } catch (error) {
      logFailure(code, { requestId: this.requestId }, error)
    }
    this.done()
  }

  /**
   * Keeps the exchange alive until end is called, even after the response or after the client has disconnected. This
   * is called when the first work starts whose result matters to others. A request that only reads its body and
   * memory ends with its client.
   */
  outlive(): void {
    if (this.finish !== undefined) return
    this.lifetime.waitUntil(
      new Promise<void>((resolve) => {
        this.finish = resolve
      }),
    )
  }

  end(): void {
    this.finish?.()
  }
}
