// Package checksum verifies the check digits and checksums of identifiers. Digits are the ASCII bytes '0' to '9'.
// Callers pass only bytes of the stated alphabet.
package checksum

// Luhn reports whether the last digit is the Luhn check digit of the digits before it.
// Source: ISO/IEC 7812-1, annex B.
func Luhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// Weighted multiplies each digit by its weight and returns the sum. weights lists numbers separated by single spaces.
// There must not be more weights than digits. weights is a string because it takes less space in the WebAssembly
// module than a slice.
//
//go:noinline
func Weighted(digits []byte, weights string) int {
	sum, weight, n := 0, 0, 0
	for i := range len(weights) {
		if weights[i] != ' ' {
			weight = weight*10 + Digit(weights[i])
			continue
		}
		sum += Digit(digits[n]) * weight
		weight, n = 0, n+1
	}
	return sum + Digit(digits[n])*weight
}

// Digit returns the value of one ASCII digit.
func Digit(b byte) int { return int(b - '0') }

// Mod returns the remainder of a decimal number divided by m. The number may have any length.
func Mod(digits []byte, m int) int {
	r := 0
	for _, d := range digits {
		r = (r*10 + int(d-'0')) % m
	}
	return r
}

// Mod11x10 reports whether the last digit is the check digit of ISO/IEC 7064, MOD 11,10.
func Mod11x10(digits []byte) bool {
	p := 10
	for _, d := range digits[:len(digits)-1] {
		s := (int(d-'0') + p) % 10
		if s == 0 {
			s = 10
		}
		p = s * 2 % 11
	}
	return (int(digits[len(digits)-1]-'0')+p)%10 == 1
}

// Mod11x2 reports whether the last character, a digit or an 'X' for ten, is the check character of ISO/IEC 7064, MOD
// 11-2.
func Mod11x2(text []byte) bool {
	p := 0
	for _, d := range text[:len(text)-1] {
		p = (p + int(d-'0')) * 2 % 11
	}
	last := text[len(text)-1]
	v := int(last - '0')
	if last == 'X' || last == 'x' {
		v = 10
	}
	return (p+v)%11 == 1
}

// Mod97 checks letters and digits as an IBAN requires: it moves the first four characters to the end and replaces
// each letter with a number (A=10 … Z=35). The remainder modulo 97 must be 1. Lowercase letters count as uppercase.
// Source: ISO 13616-1 and ISO/IEC 7064, MOD 97-10.
func Mod97(text []byte) bool {
	r := 0
	for i := range text {
		c := text[(i+4)%len(text)]
		switch {
		case c >= '0' && c <= '9':
			r = (r*10 + int(c-'0')) % 97
		default:
			r = (r*100 + int(c&^0x20) - 'A' + 10) % 97
		}
	}
	return r == 1
}

var verhoeffProduct = [10][10]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 0, 6, 7, 8, 9, 5}, {2, 3, 4, 0, 1, 7, 8, 9, 5, 6},
	{3, 4, 0, 1, 2, 8, 9, 5, 6, 7}, {4, 0, 1, 2, 3, 9, 5, 6, 7, 8}, {5, 9, 8, 7, 6, 0, 4, 3, 2, 1},
	{6, 5, 9, 8, 7, 1, 0, 4, 3, 2}, {7, 6, 5, 9, 8, 2, 1, 0, 4, 3}, {8, 7, 6, 5, 9, 3, 2, 1, 0, 4},
	{9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
}

var verhoeffPermutation = [8][10]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 5, 7, 6, 2, 8, 3, 0, 9, 4}, {5, 8, 0, 3, 7, 9, 6, 1, 4, 2},
	{8, 9, 1, 6, 0, 4, 3, 5, 2, 7}, {9, 4, 5, 3, 1, 2, 6, 8, 7, 0}, {4, 2, 8, 6, 5, 7, 3, 9, 0, 1},
	{2, 7, 9, 3, 8, 0, 6, 4, 1, 5}, {7, 0, 4, 6, 9, 1, 3, 2, 5, 8},
}

// Verhoeff reports whether the last digit is the Verhoeff check digit.
// Source: J. Verhoeff, Error Detecting Decimal Codes, 1969.
func Verhoeff(digits []byte) bool {
	c := byte(0)
	for i := range digits {
		c = verhoeffProduct[c][verhoeffPermutation[i%8][digits[len(digits)-1-i]-'0']]
	}
	return c == 0
}

// CRC32 returns the IEEE CRC-32 (reflected, polynomial 0xEDB88320). It uses no table, because tokens are short.
func CRC32(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0xEDB88320&-(crc&1)
		}
	}
	return ^crc
}

// Base62 returns the value of base62 text with the digits 0-9, A-Z, a-z. ok is false if the value needs more than 32
// bits.
func Base62(text []byte) (value uint32, ok bool) {
	v := uint64(0)
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			v = v*62 + uint64(c-'0')
		case c >= 'A' && c <= 'Z':
			v = v*62 + uint64(c-'A') + 10
		default:
			v = v*62 + uint64(c-'a') + 36
		}
		if v > 1<<32-1 {
			return 0, false
		}
	}
	return uint32(v), true
}
