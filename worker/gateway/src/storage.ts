import type { Bytes } from './abi.ts'

// The least that is valid everywhere.
const CACHE_TTL_SECONDS = 60

/** Null if there is no such key. Throws when KV is down. */
export async function readKV(kv: KVNamespace, key: string): Promise<Bytes | null> {
  const value = await kv.get(key, { type: 'arrayBuffer', cacheTtl: CACHE_TTL_SECONDS })
  return value === null ? null : new Uint8Array(value)
}

/** An empty value removes. A TTL of 0 keeps the value for good. */
export function writeKV(kv: KVNamespace, key: string, value: Bytes, ttlSeconds: number): Promise<void> {
  if (value.length === 0) return kv.delete(key)
  return kv.put(key, value, ttlSeconds > 0 ? { expirationTtl: ttlSeconds } : {})
}
