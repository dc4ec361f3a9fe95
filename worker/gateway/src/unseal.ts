import { type Bytes, UNSEAL_KEY_BYTES, UNSEAL_NONCE_BYTES, UNSEAL_TAG_BYTES } from './abi.ts'

// A deployment has one current key and perhaps a few older ones.
const KEYS_KEPT = 8

const encoder = new TextEncoder()
// The imported keys by their text in base64. Only keys are stored here and not promises, because a request must not
// await a promise of another request.
const keys = new Map<string, CryptoKey>()

/**
 * Decrypts nonce‖ciphertext‖tag with AES-256-GCM. key is 32 bytes in base64, and additional is the additional
 * authenticated data. Returns undefined on any failure and never rejects.
 */
export async function unseal(key: string, additional: string, sealed: Bytes): Promise<Bytes | undefined> {
  if (sealed.length < UNSEAL_NONCE_BYTES + UNSEAL_TAG_BYTES) return undefined
  try {
    const algorithm = {
      name: 'AES-GCM',
      iv: sealed.subarray(0, UNSEAL_NONCE_BYTES),
      additionalData: encoder.encode(additional),
      tagLength: UNSEAL_TAG_BYTES * 8,
    }
    const imported = keys.get(key) ?? (await importKey(key))
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, imported, sealed.subarray(UNSEAL_NONCE_BYTES)))
  } catch {
    return undefined
  }
}

async function importKey(text: string): Promise<CryptoKey> {
  const raw = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  // WebCrypto would also accept 16 and 24 bytes, for AES-128 and AES-192.
  if (raw.length !== UNSEAL_KEY_BYTES) throw new Error('an AES-256 key must have 32 bytes')
  const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt'])
  for (const oldest of keys.keys()) {
    if (keys.size < KEYS_KEPT) break
    keys.delete(oldest)
  }
  keys.set(text, key)
  return key
}
