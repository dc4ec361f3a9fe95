// Package blake2b implements the hash function BLAKE2b-256 (RFC 7693) for large inputs. On wasm, which has 64-bit
// words but no instructions for SHA-2, it takes a fifth of the time of SHA-256.
package blake2b

// Size is the size of a hash in bytes.
const Size = 32

const blockBytes = 128

// initial contains the first words of the state before the parameters. They are the fractional parts of square roots
// (RFC 7693, section 2.6).
var initial = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

// Sum256 returns the hash of data without a key.
func Sum256(data []byte) (sum [Size]byte) {
	h := initial
	h[0] ^= 1<<24 | 1<<16 | Size // one node, no key
	length := uint64(0)
	for len(data) > blockBytes {
		length += blockBytes
		compress(&h, data[:blockBytes], length, 0)
		data = data[blockBytes:]
	}
	var last [blockBytes]byte
	length += uint64(copy(last[:], data))
	compress(&h, last[:], length, ^uint64(0))
	for i := range sum {
		sum[i] = byte(h[i>>3] >> (8 * (i & 7)))
	}
	return sum
}

// compress adds one block. length is the number of bytes so far, including this block. final is all ones for the last
// block.
func compress(h *[8]uint64, block []byte, length, final uint64) {
	var m [16]uint64
	for i := range m {
		m[i] = word(block[8*i:])
	}
	v := [16]uint64{
		h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], initial[0], initial[1], initial[2], initial[3],
		initial[4] ^ length, initial[5], initial[6] ^ final, initial[7],
	}
	firstRounds(&v, &m)
	lastRounds(&v, &m)
	for i := range h {
		h[i] ^= v[i] ^ v[i+8]
	}
}

func word(b []byte) uint64 {
	b = b[:8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
