import { type Bytes, UNSEAL_NONCE_BYTES, UNSEAL_TAG_BYTES } from './abi.ts'

const KEY_BYTES = 32
// A deployment has the key of now and perhaps some of before.
const KEYS_KEPT = 8

const encoder = new TextEncoder()
// By their text. Not promises of keys: one request must not wait for another's.
const keys = new Map<string, CryptoKey>()

/**
 * Decrypts nonce‖ciphertext‖tag by AES-256-GCM: key is its 32 bytes in base64, additional the additional
 * authenticated data. Undefined if anything is wrong with any of them; never rejects.
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
  // WebCrypto would take 16 and 24 bytes too, for the other two variants.
  if (raw.length !== KEY_BYTES) throw new Error('not a key of AES-256')
  const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt'])
  for (const oldest of keys.keys()) {
    if (keys.size < KEYS_KEPT) break
    keys.delete(oldest)
  }
  keys.set(text, key)
  return key
}
