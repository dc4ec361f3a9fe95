import { FAULT_TOTAL } from './abi.ts'

/** The timeouts of a fetch: one for the current phase and one for the total time. One timer serves both. */
export class Timeouts {
  private readonly onTimeout: (fault: number) => void
  private readonly endMs: number
  private readonly shortestMs: number
  private phaseEndMs = Number.POSITIVE_INFINITY
  private phaseFault = 0
  private timer: number | null = null
  private timerMs = Number.POSITIVE_INFINITY

  /**
   * Starts the total time. 0 means no timeout. shortestMs is the shortest timeout of a phase. onTimeout gets the fault of
   * the timeout that has passed.
   */
  constructor(totalMs: number, shortestMs: number, onTimeout: (fault: number) => void) {
    this.onTimeout = onTimeout
    this.endMs = after(totalMs)
    this.shortestMs = shortestMs
  }

  /**
   * Begins a phase with a timeout. 0 means no timeout. No timer is set for longer than the shortest timeout, and if it
   * fires too early, it is set again. Most fetches therefore need one timer, whereas a new one for every phase or chunk
   * would cost more.
   */
  phase(ms: number, fault: number): void {
    const end = after(ms)
    const total = this.endMs < end
    this.phaseEndMs = total ? this.endMs : end
    this.phaseFault = total ? FAULT_TOTAL : fault
    if (this.timer === null || this.phaseEndMs < this.timerMs) this.arm()
  }

  stop(): void {
    clearTimeout(this.timer)
  }

  private arm(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.timerMs = this.phaseEndMs
    if (!Number.isFinite(this.phaseEndMs)) return
    const now = Date.now()
    this.timerMs = Math.min(this.phaseEndMs, now + this.shortestMs)
    this.timer = setTimeout(() => this.ring(), this.timerMs - now)
  }

  private ring(): void {
    this.timer = null
    if (Date.now() >= this.phaseEndMs) this.onTimeout(this.phaseFault)
    else this.arm()
  }
}

/** The shorter of two timeouts, where 0 means none. */
export function shorter(a: number, b: number): number {
  return Math.min(a || Number.POSITIVE_INFINITY, b || Number.POSITIVE_INFINITY)
}

function after(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : Date.now() + ms
}
