import type { Bytes, Configured } from './abi.ts'
import { clock } from './clock.ts'

/** Bounds set by the core; see core/abi. */
export type Bounds = Pick<Configured, 'memoryBytes' | 'memoryEntryBytes' | 'memoryOverheadBytes'>

interface Entry {
  value: Bytes
  size: number
  storedMs: number
  expiresMs: number
}

/** A memory cache from key to bytes, bounded in bytes, with least-recently-used eviction. Only the core's actions use it. */
export class Memory {
  // A Map keeps keys in insertion order, so the first is the least recently used.
  private readonly entries = new Map<string, Entry>()
  private bounds: Bounds = { memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0 }
  private used = 0

  /** Keeps no entry until the configured core sets the bounds. */
  bound(bounds: Bounds): void {
    this.bounds = bounds
  }

  get bytes(): number {
    return this.used
  }

  read(key: string): Bytes | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    const now = clock.now()
    // A clock that jumped back must not extend an entry's life.
    if (now >= entry.expiresMs || now < entry.storedMs) {
      this.remove(key)
      return undefined
    }
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  /** An empty value or a keep time of 0 deletes the entry. */
  write(key: string, value: Bytes, keepMs: number): void {
    this.remove(key)
    const size = key.length + value.length + this.bounds.memoryOverheadBytes
    if (value.length === 0 || keepMs === 0 || size > this.bounds.memoryEntryBytes) return
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
      if (this.used <= this.bounds.memoryBytes) return
      this.remove(key)
    }
  }
}
