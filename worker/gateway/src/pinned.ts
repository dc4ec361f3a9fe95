import { type Bytes, NO_BYTES } from './abi.ts'
import { clock } from './clock.ts'

interface Entry {
  value: Bytes
  expiresMs: number
}

/**
 * The isolate's pinned memory: entries that steps read and replace, outside the cache. Steps are synchronous, so an entry
 * does not change between a step's input and its output.
 */
export class Pinned {
  private readonly entries = new Map<string, Entry>()
  private limit = 0

  /** Keeps no entry until the configured core sets the limit. */
  bound(limit: number): void {
    this.limit = limit
  }

  read(key: string): Bytes {
    return this.entries.get(key)?.value ?? NO_BYTES
  }

  /** Replaces an entry; an empty value removes it. Drops a new entry if there is no room. */
  write(key: string, value: Bytes, keepMs: number): void {
    const entry = this.entries.get(key)
    if (value.length === 0) this.entries.delete(key)
    else if (entry !== undefined) {
      entry.value = value
      entry.expiresMs = clock.now() + keepMs
    } else if (this.hasRoom()) this.entries.set(key, { value, expiresMs: clock.now() + keepMs })
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
