package checksum

import "math/bits"

var keccakRounds = [24]uint64{
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
	0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
	0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
	0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
}

var keccakRotation = [24]int{1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44}

var keccakLane = [24]int{10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1}

// keccak256 returns the Keccak-256 hash of at most 135 bytes, which fit in one block. The padding is Keccak's (0x01),
// not SHA-3's. Source: https://keccak.team/keccak_specs_summary.html
func keccak256(data []byte) (digest [32]byte) {
	var a [25]uint64
	for i, b := range data {
		a[i/8] ^= uint64(b) << (i % 8 * 8)
	}
	a[len(data)/8] ^= 1 << (len(data) % 8 * 8)
	a[16] ^= 1 << 63 // the last byte of the 136-byte block
	keccakF(&a)
	for i := range digest {
		digest[i] = byte(a[i/8] >> (i % 8 * 8))
	}
	return digest
}

func keccakF(a *[25]uint64) {
	var c [5]uint64
	for _, round := range keccakRounds {
		for x := range 5 {
			c[x] = a[x] ^ a[x+5] ^ a[x+10] ^ a[x+15] ^ a[x+20]
		}
		for x := range 5 {
			d := c[(x+4)%5] ^ bits.RotateLeft64(c[(x+1)%5], 1)
			for y := 0; y < 25; y += 5 {
				a[x+y] ^= d
			}
		}
		t := a[1]
		for i, lane := range keccakLane {
			a[lane], t = bits.RotateLeft64(t, keccakRotation[i]), a[lane]
		}
		for y := 0; y < 25; y += 5 {
			copy(c[:], a[y:y+5])
			for x := range 5 {
				a[x+y] = c[x] ^ ^c[(x+1)%5]&c[(x+2)%5]
			}
		}
		a[0] ^= round
	}
}

// EIP55 reports whether the case of 40 hexadecimal digits is the correct checksum of an Ethereum address. Source:
// https://eips.ethereum.org/EIPS/eip-55
func EIP55(digits []byte) bool {
	var folded [40]byte
	for i, c := range digits[:40] {
		folded[i] = lower(c)
	}
	digest := keccak256(folded[:])
	for i, c := range digits[:40] {
		if c <= '9' {
			continue
		}
		upper := digest[i/2]>>(4*(1-i%2))&15 >= 8
		if upper != (c < 'a') {
			return false
		}
	}
	return true
}
