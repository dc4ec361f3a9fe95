package abi

// OutboxKey returns the key of the outbox row with the given sequence number. Its fixed width keeps the rows in
// order.
func OutboxKey(seq uint64) string { return OutboxPrefix + Fixed(seq) }

// Fixed formats a number below 2^48 as twelve hexadecimal digits. The results sort like the numbers.
func Fixed(v uint64) string {
	var digits [12]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
	return string(digits[:])
}

// Unfixed is the inverse of Fixed.
func Unfixed(text string) uint64 {
	var v uint64
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 'a' {
			c -= 'a' - '9' - 1
		}
		v = v<<4 | uint64(c-'0')
	}
	return v
}
