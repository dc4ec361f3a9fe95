// Package hmac implements HMAC with SHA-256 (RFC 2104). The standard library's package has imports that the core must
// not use.
package hmac

import "crypto/sha256"

// SHA256 returns the authentication code of a message.
func SHA256(key []byte, message string) []byte {
	var pad [sha256.BlockSize]byte
	if len(key) > len(pad) {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	copy(pad[:], key)
	for i := range pad {
		pad[i] ^= 0x36
	}
	inner := sha256.Sum256(append(pad[:len(pad):len(pad)], message...))
	for i := range pad {
		pad[i] ^= 0x36 ^ 0x5c
	}
	outer := sha256.Sum256(append(pad[:len(pad):len(pad)], inner[:]...))
	return outer[:]
}
