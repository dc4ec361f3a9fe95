import { type Bytes, type Configured, type Event, NO_BYTES, type StepOutput } from './abi.ts'
import { clock } from './clock.ts'
import { Colo } from './colo.ts'
import type { Engine } from './engine.ts'
import { Flights } from './flight.ts'
import { MemoryCache } from './memory.ts'
import { Pinned } from './pinned.ts'
import { Queues } from './queue.ts'

/** The part of a step's input that belongs to its exchange. */
export interface Input {
  state: Bytes
  attached: Bytes
  /** The key of the pinned entry, or empty if there is none. */
  pinned: string
  /** The number of followers of the flight that the exchange leads. */
  waiting: number
  event: Event
}

/** The data that an isolate keeps between requests. It can be lost at any time. */
export class Isolate {
  engine: Engine
  readonly colo: Colo
  readonly memory = new MemoryCache()
  readonly flights = new Flights()
  readonly queues = new Queues()
  private readonly pinned = new Pinned()
  // The core's shared blob from the latest step of any exchange.
  private shared: Bytes = NO_BYTES

  constructor(engine: Engine, colo = new Colo()) {
    this.engine = engine
    this.colo = colo
  }

  /** Keeps nothing until the configured core sets the bounds. */
  bound(configured: Configured): void {
    this.memory.bound(configured)
    this.pinned.bound(configured.pinnedEntries)
  }

  /** Runs one step of an exchange with the data that the isolate keeps. */
  step({ state, attached, pinned, waiting, event }: Input): StepOutput {
    const entry = pinned === '' ? NO_BYTES : this.pinned.read(pinned)
    const out = this.engine.step(clock.now(), this.shared, state, attached, entry, event, waiting)
    if (out.sharedChanged) this.shared = out.shared.slice()
    if (out.pinnedChanged) {
      this.pinned.write(pinned, out.pinned, out.pinnedKeepMs)
      if (out.wake > 0) this.queues.wake(pinned, out.wake)
    }
    return out
  }

  /** Discards all data. The isolate is then like a new one. */
  clear(): void {
    this.memory.clear()
    this.flights.clear()
    this.pinned.clear()
    this.shared = NO_BYTES
  }
}
