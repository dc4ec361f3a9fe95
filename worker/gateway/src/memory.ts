import type { Bytes, Configured } from './abi.ts'
import { clock } from './clock.ts'

/** Bounds that the core tells; core/abi says what they mean. */
export type Bounds = Pick<Configured, 'memoryBytes' | 'memoryEntryBytes' | 'memoryOverheadBytes'>

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
  private bounds: Bounds = { memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0 }
  private used = 0

  /** Without bounds, which only the configured core knows, nothing is kept. */
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
    // A clock that jumped back must not make an entry live longer.
    if (now >= entry.expiresMs || now < entry.storedMs) {
      this.remove(key)
      return undefined
    }
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  /** An empty value removes, as does no time to keep it. */
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
