import type { Bytes } from './abi.ts'

/** Null if there is no such key. A copy up to cacheSeconds old will do. Throws when KV is down. */
export async function readKV(kv: KVNamespace, key: string, cacheSeconds: number): Promise<Bytes | null> {
  const value = await kv.get(key, { type: 'arrayBuffer', cacheTtl: cacheSeconds })
  return value === null ? null : new Uint8Array(value)
}

/** An empty value removes. A TTL of 0 keeps the value for good. */
export async function writeKV(kv: KVNamespace, key: string, value: Bytes, ttlSeconds: number): Promise<void> {
  if (value.length === 0) await kv.delete(key)
  else await kv.put(key, value, ttlSeconds > 0 ? { expirationTtl: ttlSeconds } : {})
}
