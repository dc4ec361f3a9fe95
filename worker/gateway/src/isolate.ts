import type { Bytes } from './abi.ts'
import type { Colo } from './colo.ts'
import type { Core } from './core.ts'
import type { Flights } from './flight.ts'
import type { Memory } from './memory.ts'
import type { Pinned } from './pinned.ts'

/** State that an isolate keeps between requests. It can be lost at any time. */
export interface Isolate {
  core: Core
  memory: Memory
  colo: Colo
  flights: Flights
  pinned: Pinned
  /** The core's shared blob, from the latest step of any exchange. */
  shared: Bytes
}
