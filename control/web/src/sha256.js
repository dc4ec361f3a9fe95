// SHA-256, for the hash of a pasted key. crypto.subtle is missing if the dashboard is opened over plain HTTP, and one
// implementation for all cases is tested better than two. Source: NIST FIPS 180-4, sections 4.1.2, 4.2.2, 5 and 6.2.

// The cube roots of the first 64 primes: the first 32 bits of their fractional parts.
// biome-ignore format: eight constants a line, as in the standard
const ROUNDS = new Uint32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])
// Likewise, the square roots of the first eight primes.
// biome-ignore format: eight constants a line
const START = new Uint32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
])
const BLOCK_BYTES = 64
const LENGTH_BYTES = 8

const rotate = (word, bits) => (word >>> bits) | (word << (32 - bits))

/** The SHA-256 hash of a text in UTF-8, as lowercase hexadecimal digits. */
export function sha256(text) {
  const blocks = pad(new TextEncoder().encode(text))
  const state = START.slice()
  for (let at = 0; at < blocks.byteLength; at += BLOCK_BYTES) compress(state, blocks, at)
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The message padded to whole blocks: a 1 bit, zeros, and the length in bits. @param {Uint8Array} message */
function pad(message) {
  const size = Math.ceil((message.length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
  const padded = new Uint8Array(size)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(size - LENGTH_BYTES, BigInt(message.length) * 8n)
  return view
}

function schedule(blocks, at) {
  const words = new Uint32Array(64)
  for (let i = 0; i < 16; i++) words[i] = blocks.getUint32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15]
    const late = words[i - 2]
    const first = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
    const second = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
    words[i] = words[i - 16] + first + words[i - 7] + second
  }
  return words
}

function compress(state, blocks, at) {
  const words = schedule(blocks, at)
  let [a, b, c, d, e, f, g, h] = state
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g)
    const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + ROUNDS[i] + words[i]) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] += word
}
