import type { Bytes } from './abi.ts'
import type { Core } from './core.ts'
import type { Memory } from './memory.ts'

/** What an isolate holds between requests. All of it may vanish at any time. */
export interface Isolate {
  core: Core
  memory: Memory
  /** The core's blob, from the last step of any exchange. */
  shared: Bytes
}
