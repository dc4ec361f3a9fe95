import { type Bytes, NO_BYTES } from './abi.ts'
import { clock } from './clock.ts'
import { Kept } from './kept.ts'

interface Entry {
  value: Kept
  expiresMs: number
}

/**
 * The isolate's pinned memory. Steps read and replace its entries, which are not part of the cache. Steps are
 * synchronous, so an entry does not change between a step's input and its output.
 */
export class Pinned {
  private readonly entries = new Map<string, Entry>()
  private limit = 0

  /** Keeps no entry until the configured core sets the limit. */
  bound(limit: number): void {
    this.limit = limit
  }

  /** Returns an entry, or no bytes if there is none. The result is valid until the entry is written. */
  read(key: string): Bytes {
    return this.entries.get(key)?.value.bytes ?? NO_BYTES
  }

  /** Replaces an entry with a copy of value. An empty value removes it. If there is no room, a new entry is dropped. */
  write(key: string, value: Bytes, keepMs: number): void {
    if (value.length === 0) {
      this.entries.delete(key)
      return
    }
    let entry = this.entries.get(key)
    if (entry === undefined) {
      if (!this.hasRoom()) return
      entry = { value: new Kept(), expiresMs: 0 }
      this.entries.set(key, entry)
    }
    entry.value.replace(value)
    entry.expiresMs = clock.now() + keepMs
  }

  clear(): void {
    this.entries.clear()
  }

  private hasRoom(): boolean {
    if (this.entries.size >= this.limit) this.sweep()
    return this.entries.size < this.limit
  }

  private sweep(): void {
    const now = clock.now()
    for (const [key, { expiresMs }] of this.entries) if (expiresMs <= now) this.entries.delete(key)
  }
}
