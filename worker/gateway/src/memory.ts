import type { Bytes } from './abi.ts'
import { clock } from './clock.ts'

const CAPACITY_BYTES = 16 << 20
const ENTRY_LIMIT_BYTES = 1 << 20
// What a map entry and its objects take beside the value, roughly: without it a flood of empty values
// would count as nothing.
const OVERHEAD_BYTES = 128

interface Entry {
  value: Bytes
  size: number
  storedMs: number
  expiresMs: number
}

/** Host memory: key to bytes, bounded in bytes, least recently used out first. Only actions touch it. */
export class Memory {
  // A Map keeps its keys in order of insertion: the first is the one used longest ago.
  private readonly entries = new Map<string, Entry>()
  private readonly capacity: number
  private readonly entryLimit: number
  private used = 0

  constructor(capacity = CAPACITY_BYTES, entryLimit = ENTRY_LIMIT_BYTES) {
    this.capacity = capacity
    this.entryLimit = entryLimit
  }

  get bytes(): number {
    return this.used
  }

  read(key: string): Bytes | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    const now = clock.now()
    // A clock that jumped back must not make an entry live longer.
    if (now >= entry.expiresMs || now < entry.storedMs) {
      this.remove(key)
      return undefined
    }
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  write(key: string, value: Bytes, keepMs: number): void {
    this.remove(key)
    const size = key.length + value.length + OVERHEAD_BYTES
    if (size > this.entryLimit || keepMs <= 0) return
    const now = clock.now()
    this.entries.set(key, { value, size, storedMs: now, expiresMs: now + keepMs })
    this.used += size
    this.evict()
  }

  remove(key: string): void {
    const entry = this.entries.get(key)
    if (entry === undefined) return
    this.used -= entry.size
    this.entries.delete(key)
  }

  clear(): void {
    this.entries.clear()
    this.used = 0
  }

  private evict(): void {
    for (const key of this.entries.keys()) {
      if (this.used <= this.capacity) return
      this.remove(key)
    }
  }
}
