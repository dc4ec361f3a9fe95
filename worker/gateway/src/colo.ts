import type { Bytes } from './abi.ts'

// This name is reserved (RFC 2606), so no request to the gateway's own host names can read or replace an entry.
const ORIGIN = 'https://cache.postern.invalid/'

/**
 * The data center's cache: the platform's Cache API. Its entries may vanish at any time, so every failure is a miss.
 * Some environments have no cache: on workers.dev, it silently stores nothing, and in plain workerd, it throws. An
 * isolate finds that out once, with its first operations.
 */
export class Colo {
  private absent = false
  private works = false

  get available(): boolean {
    return !this.absent && typeof caches !== 'undefined'
  }

  async read(key: string): Promise<Bytes | undefined> {
    try {
      const response = await caches.default.match(urlOf(key))
      if (response === undefined) return undefined
      this.works = true
      const value = new Uint8Array(await response.arrayBuffer())
      return value.length === 0 ? undefined : value
    } catch {
      this.absent = !this.works
      return undefined
    }
  }

  /** Stores a value, or removes the entry if the value is empty. Never rejects. */
  async write(key: string, value: Bytes, ttlSeconds: number): Promise<void> {
    const url = urlOf(key)
    try {
      if (value.length === 0) {
        await caches.default.delete(url)
        return
      }
      await caches.default.put(url, new Response(value, { headers: { 'cache-control': `max-age=${ttlSeconds}` } }))
      if (!this.works && (await this.read(key)) === undefined) this.absent = true
    } catch {
      this.absent = !this.works
    }
  }
}

function urlOf(key: string): string {
  return ORIGIN + key.split('/').map(encodeURIComponent).join('/')
}
