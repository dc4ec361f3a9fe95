import { FAULT_TOTAL } from './abi.ts'

/** The timeouts of a fetch: one for the current phase and one for the total time. One timer serves both. */
export class Timeouts {
  private readonly onTimeout: (fault: number) => void
  private readonly endMs: number
  private phaseEndMs = Number.POSITIVE_INFINITY
  private phaseFault = 0
  private timer: number | null = null
  private timerMs = Number.POSITIVE_INFINITY

  /** Starts the total time. 0 means no timeout. onTimeout gets the fault of the timeout that has passed. */
  constructor(totalMs: number, onTimeout: (fault: number) => void) {
    this.onTimeout = onTimeout
    this.endMs = after(totalMs)
  }

  /**
   * Begins a phase with a timeout. 0 means no timeout. If a timer fires too early, it is set again. This is cheaper
   * than a new timer for every chunk.
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
    clearTimeout(this.timer)
    this.timer = null
    this.timerMs = this.phaseEndMs
    if (Number.isFinite(this.phaseEndMs)) this.timer = setTimeout(() => this.ring(), this.phaseEndMs - Date.now())
  }

  private ring(): void {
    this.timer = null
    if (Date.now() >= this.phaseEndMs) this.onTimeout(this.phaseFault)
    else this.arm()
  }
}

function after(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : Date.now() + ms
}
