import type { Bytes } from './abi.ts'
import type { Core } from './core.ts'
import type { Memory } from './memory.ts'

/** State that an isolate keeps between requests. It can be lost at any time. */
export interface Isolate {
  core: Core
  memory: Memory
  /** The core's shared blob, from the latest step of any exchange. */
  shared: Bytes
}
