import { type Bytes, type Configured, NO_BYTES } from './abi.ts'
import { clock } from './clock.ts'

/** Limits that the core sets. See core/abi. */
export type Bounds = Pick<Configured, 'memoryBytes' | 'memoryEntryBytes' | 'memoryOverheadBytes'>

/** An entry and its neighbors in the order of last use. */
interface Entry {
  key: string
  value: Bytes
  size: number
  storedMs: number
  expiresMs: number
  older: Entry
  newer: Entry
}

/**
 * A memory cache from keys to bytes. Its size in bytes is limited, and it evicts the least recently used entries.
 * Only the core's actions use it.
 *
 * The order of use is a linked list and not the Map's own order. V8 keeps deleted keys in a Map's hash chains until
 * it rehashes. If a hot key were deleted and set on every read, each of its lookups would become longer.
 */
export class MemoryCache {
  private readonly entries = new Map<string, Entry>()
  // The list is a ring. The anchor's newer neighbor is the least recently used entry, and its older neighbor is the
  // most recently used one.
  private readonly anchor = anchor()
  private bounds: Bounds = { memoryBytes: 0, memoryEntryBytes: 0, memoryOverheadBytes: 0 }
  private used = 0

  /** Keeps no entry until the configured core sets the limits. */
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
    // If the clock has jumped back, that must not extend the life of an entry.
    if (now >= entry.expiresMs || now < entry.storedMs) {
      this.remove(key)
      return undefined
    }
    unlink(entry)
    this.link(entry)
    return entry.value
  }

  /** An empty value or a keep time of 0 deletes the entry. */
  write(key: string, value: Bytes, keepMs: number): void {
    this.remove(key)
    const size = key.length + value.length + this.bounds.memoryOverheadBytes
    if (value.length === 0 || keepMs === 0 || size > this.bounds.memoryEntryBytes) return
    const now = clock.now()
    const { anchor } = this
    const entry = { key, value, size, storedMs: now, expiresMs: now + keepMs, older: anchor, newer: anchor }
    this.entries.set(key, entry)
    this.link(entry)
    this.used += size
    this.evict()
  }

  remove(key: string): void {
    const entry = this.entries.get(key)
    if (entry === undefined) return
    this.used -= entry.size
    unlink(entry)
    this.entries.delete(key)
  }

  clear(): void {
    while (this.anchor.newer !== this.anchor) this.remove(this.anchor.newer.key)
  }

  private evict(): void {
    while (this.used > this.bounds.memoryBytes) this.remove(this.anchor.newer.key)
  }

  private link(entry: Entry): void {
    const { anchor } = this
    entry.older = anchor.older
    entry.newer = anchor
    anchor.older.newer = entry
    anchor.older = entry
  }
}

function anchor(): Entry {
  const entry: Partial<Entry> = { key: '', value: NO_BYTES, size: 0, storedMs: 0, expiresMs: 0 }
  entry.older = entry as Entry
  entry.newer = entry as Entry
  return entry as Entry
}

function unlink({ older, newer }: Entry): void {
  older.newer = newer
  newer.older = older
}
