import type { Bytes } from './abi.ts'

/** Returns null for an unknown key. The value may be a cached copy up to cacheSeconds old. Throws if KV is down. */
export async function readKV(kv: KVNamespace, key: string, cacheSeconds: number): Promise<Bytes | null> {
  const value = await kv.get(key, { type: 'arrayBuffer', cacheTtl: cacheSeconds })
  return value === null ? null : new Uint8Array(value)
}

/** Stores a value; an empty one deletes the key. A TTL of 0 means without expiry. */
export async function writeKV(kv: KVNamespace, key: string, value: Bytes, ttlSeconds: number): Promise<void> {
  if (value.length === 0) await kv.delete(key)
  else await kv.put(key, value, ttlSeconds > 0 ? { expirationTtl: ttlSeconds } : {})
}
