// Package blake2b is the hash function BLAKE2b-256 (RFC 7693) for large texts: on wasm, which has 64-bit words but no instructions
// for SHA-2, it takes less than half the time of SHA-256.
package blake2b

import "math/bits"

// Size is the size of a hash in bytes.
const Size = 32

const blockBytes = 128

// initial are the first words of the state before the parameters: the fractional parts of square roots (RFC 7693, section 2.6).
var initial = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

// order is the order of the message words in each round (RFC 7693, section 2.7).
var order = [12][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
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

// compress adds one block. length is the number of bytes so far, this block's included; final is all ones for the last block.
func compress(h *[8]uint64, block []byte, length, final uint64) {
	var m [16]uint64
	for i := range m {
		m[i] = word(block[8*i:])
	}
	a, b, c, d := h[0], h[1], h[2], h[3]
	e, f, g, k := h[4], h[5], h[6], h[7]
	i, j, l, n := initial[0], initial[1], initial[2], initial[3]
	o, p, q, r := initial[4]^length, initial[5], initial[6]^final, initial[7]
	for round := range order {
		s := &order[round]
		a, e, i, o = mix(a, e, i, o, m[s[0]&15], m[s[1]&15])
		b, f, j, p = mix(b, f, j, p, m[s[2]&15], m[s[3]&15])
		c, g, l, q = mix(c, g, l, q, m[s[4]&15], m[s[5]&15])
		d, k, n, r = mix(d, k, n, r, m[s[6]&15], m[s[7]&15])
		a, f, l, r = mix(a, f, l, r, m[s[8]&15], m[s[9]&15])
		b, g, n, o = mix(b, g, n, o, m[s[10]&15], m[s[11]&15])
		c, k, i, p = mix(c, k, i, p, m[s[12]&15], m[s[13]&15])
		d, e, j, q = mix(d, e, j, q, m[s[14]&15], m[s[15]&15])
	}
	h[0], h[1], h[2], h[3] = h[0]^a^i, h[1]^b^j, h[2]^c^l, h[3]^d^n
	h[4], h[5], h[6], h[7] = h[4]^e^o, h[5]^f^p, h[6]^g^q, h[7]^k^r
}

// mix is the function G of RFC 7693, section 3.1.
func mix(a, b, c, d, x, y uint64) (uint64, uint64, uint64, uint64) {
	a += b + x
	d = bits.RotateLeft64(d^a, -32)
	c += d
	b = bits.RotateLeft64(b^c, -24)
	a += b + y
	d = bits.RotateLeft64(d^a, -16)
	c += d
	b = bits.RotateLeft64(b^c, -63)
	return a, b, c, d
}

func word(b []byte) uint64 {
	b = b[:8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
