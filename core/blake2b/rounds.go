package blake2b

import "math/bits"

// The rounds are unrolled, with the order of the message words (RFC 7693, section 2.7) as constants. On wasm, this is
// almost twice as fast as a loop over a table.

// firstRounds are rounds 0 to 5.
func firstRounds(v, m *[16]uint64) {
	a, b, c, d := v[0], v[1], v[2], v[3]
	e, f, g, h := v[4], v[5], v[6], v[7]
	i, j, k, l := v[8], v[9], v[10], v[11]
	n, o, p, q := v[12], v[13], v[14], v[15]
	a, e, i, n = mix(a, e, i, n, m[0], m[1])
	b, f, j, o = mix(b, f, j, o, m[2], m[3])
	c, g, k, p = mix(c, g, k, p, m[4], m[5])
	d, h, l, q = mix(d, h, l, q, m[6], m[7])
	a, f, k, q = mix(a, f, k, q, m[8], m[9])
	b, g, l, n = mix(b, g, l, n, m[10], m[11])
	c, h, i, o = mix(c, h, i, o, m[12], m[13])
	d, e, j, p = mix(d, e, j, p, m[14], m[15])
	a, e, i, n = mix(a, e, i, n, m[14], m[10])
	b, f, j, o = mix(b, f, j, o, m[4], m[8])
	c, g, k, p = mix(c, g, k, p, m[9], m[15])
	d, h, l, q = mix(d, h, l, q, m[13], m[6])
	a, f, k, q = mix(a, f, k, q, m[1], m[12])
	b, g, l, n = mix(b, g, l, n, m[0], m[2])
	c, h, i, o = mix(c, h, i, o, m[11], m[7])
	d, e, j, p = mix(d, e, j, p, m[5], m[3])
	a, e, i, n = mix(a, e, i, n, m[11], m[8])
	b, f, j, o = mix(b, f, j, o, m[12], m[0])
	c, g, k, p = mix(c, g, k, p, m[5], m[2])
	d, h, l, q = mix(d, h, l, q, m[15], m[13])
	a, f, k, q = mix(a, f, k, q, m[10], m[14])
	b, g, l, n = mix(b, g, l, n, m[3], m[6])
	c, h, i, o = mix(c, h, i, o, m[7], m[1])
	d, e, j, p = mix(d, e, j, p, m[9], m[4])
	a, e, i, n = mix(a, e, i, n, m[7], m[9])
	b, f, j, o = mix(b, f, j, o, m[3], m[1])
	c, g, k, p = mix(c, g, k, p, m[13], m[12])
	d, h, l, q = mix(d, h, l, q, m[11], m[14])
	a, f, k, q = mix(a, f, k, q, m[2], m[6])
	b, g, l, n = mix(b, g, l, n, m[5], m[10])
	c, h, i, o = mix(c, h, i, o, m[4], m[0])
	d, e, j, p = mix(d, e, j, p, m[15], m[8])
	a, e, i, n = mix(a, e, i, n, m[9], m[0])
	b, f, j, o = mix(b, f, j, o, m[5], m[7])
	c, g, k, p = mix(c, g, k, p, m[2], m[4])
	d, h, l, q = mix(d, h, l, q, m[10], m[15])
	a, f, k, q = mix(a, f, k, q, m[14], m[1])
	b, g, l, n = mix(b, g, l, n, m[11], m[12])
	c, h, i, o = mix(c, h, i, o, m[6], m[8])
	d, e, j, p = mix(d, e, j, p, m[3], m[13])
	a, e, i, n = mix(a, e, i, n, m[2], m[12])
	b, f, j, o = mix(b, f, j, o, m[6], m[10])
	c, g, k, p = mix(c, g, k, p, m[0], m[11])
	d, h, l, q = mix(d, h, l, q, m[8], m[3])
	a, f, k, q = mix(a, f, k, q, m[4], m[13])
	b, g, l, n = mix(b, g, l, n, m[7], m[5])
	c, h, i, o = mix(c, h, i, o, m[15], m[14])
	d, e, j, p = mix(d, e, j, p, m[1], m[9])
	v[0], v[1], v[2], v[3] = a, b, c, d
	v[4], v[5], v[6], v[7] = e, f, g, h
	v[8], v[9], v[10], v[11] = i, j, k, l
	v[12], v[13], v[14], v[15] = n, o, p, q
}

// lastRounds are rounds 6 to 11.
func lastRounds(v, m *[16]uint64) {
	a, b, c, d := v[0], v[1], v[2], v[3]
	e, f, g, h := v[4], v[5], v[6], v[7]
	i, j, k, l := v[8], v[9], v[10], v[11]
	n, o, p, q := v[12], v[13], v[14], v[15]
	a, e, i, n = mix(a, e, i, n, m[12], m[5])
	b, f, j, o = mix(b, f, j, o, m[1], m[15])
	c, g, k, p = mix(c, g, k, p, m[14], m[13])
	d, h, l, q = mix(d, h, l, q, m[4], m[10])
	a, f, k, q = mix(a, f, k, q, m[0], m[7])
	b, g, l, n = mix(b, g, l, n, m[6], m[3])
	c, h, i, o = mix(c, h, i, o, m[9], m[2])
	d, e, j, p = mix(d, e, j, p, m[8], m[11])
	a, e, i, n = mix(a, e, i, n, m[13], m[11])
	b, f, j, o = mix(b, f, j, o, m[7], m[14])
	c, g, k, p = mix(c, g, k, p, m[12], m[1])
	d, h, l, q = mix(d, h, l, q, m[3], m[9])
	a, f, k, q = mix(a, f, k, q, m[5], m[0])
	b, g, l, n = mix(b, g, l, n, m[15], m[4])
	c, h, i, o = mix(c, h, i, o, m[8], m[6])
	d, e, j, p = mix(d, e, j, p, m[2], m[10])
	a, e, i, n = mix(a, e, i, n, m[6], m[15])
	b, f, j, o = mix(b, f, j, o, m[14], m[9])
	c, g, k, p = mix(c, g, k, p, m[11], m[3])
	d, h, l, q = mix(d, h, l, q, m[0], m[8])
	a, f, k, q = mix(a, f, k, q, m[12], m[2])
	b, g, l, n = mix(b, g, l, n, m[13], m[7])
	c, h, i, o = mix(c, h, i, o, m[1], m[4])
	d, e, j, p = mix(d, e, j, p, m[10], m[5])
	a, e, i, n = mix(a, e, i, n, m[10], m[2])
	b, f, j, o = mix(b, f, j, o, m[8], m[4])
	c, g, k, p = mix(c, g, k, p, m[7], m[6])
	d, h, l, q = mix(d, h, l, q, m[1], m[5])
	a, f, k, q = mix(a, f, k, q, m[15], m[11])
	b, g, l, n = mix(b, g, l, n, m[9], m[14])
	c, h, i, o = mix(c, h, i, o, m[3], m[12])
	d, e, j, p = mix(d, e, j, p, m[13], m[0])
	a, e, i, n = mix(a, e, i, n, m[0], m[1])
	b, f, j, o = mix(b, f, j, o, m[2], m[3])
	c, g, k, p = mix(c, g, k, p, m[4], m[5])
	d, h, l, q = mix(d, h, l, q, m[6], m[7])
	a, f, k, q = mix(a, f, k, q, m[8], m[9])
	b, g, l, n = mix(b, g, l, n, m[10], m[11])
	c, h, i, o = mix(c, h, i, o, m[12], m[13])
	d, e, j, p = mix(d, e, j, p, m[14], m[15])
	a, e, i, n = mix(a, e, i, n, m[14], m[10])
	b, f, j, o = mix(b, f, j, o, m[4], m[8])
	c, g, k, p = mix(c, g, k, p, m[9], m[15])
	d, h, l, q = mix(d, h, l, q, m[13], m[6])
	a, f, k, q = mix(a, f, k, q, m[1], m[12])
	b, g, l, n = mix(b, g, l, n, m[0], m[2])
	c, h, i, o = mix(c, h, i, o, m[11], m[7])
	d, e, j, p = mix(d, e, j, p, m[5], m[3])
	v[0], v[1], v[2], v[3] = a, b, c, d
	v[4], v[5], v[6], v[7] = e, f, g, h
	v[8], v[9], v[10], v[11] = i, j, k, l
	v[12], v[13], v[14], v[15] = n, o, p, q
}

// mix returns the function G of RFC 7693, section 3.1.
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
