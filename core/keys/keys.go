// Package keys is the format of Postern's keys:
//
//	sk_live_ + 23 base62 digits (136 random bits) + 6 base62 digits (checksum)
//
// sk_ opens the gateway, pk_ the project's compliance data; _live_ is production, _test_ development. The
// checksum is the first 32 bits of the SHA-256 of what stands before it: a mistyped key is refused without
// asking anybody. Only the SHA-256 of a whole key is ever stored, and every record is found by all of it.
package keys

import "crypto/sha256"

// Kind is what a key opens.
type Kind uint8

const (
	Gateway Kind = 1 // sk_
	Project Kind = 2 // pk_
)

// Environment says how a key is answered.
type Environment uint8

const (
	Production  Environment = 1 // _live_
	Development Environment = 2 // _test_: test mode and lower limits
)

const (
	prefixLength   = 8
	bodyLength     = 23
	checksumLength = 6
	// Length of every key, in bytes.
	Length = prefixLength + bodyLength + checksumLength
	// RandomBytes is how much randomness New takes.
	RandomBytes = 17
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Prefix is what keys of a kind and environment start with.
func Prefix(kind Kind, env Environment) string {
	prefix := "sk_"
	if kind == Project {
		prefix = "pk_"
	}
	if env == Development {
		return prefix + "test_"
	}
	return prefix + "live_"
}

// New makes a key from fresh randomness.
func New(kind Kind, env Environment, random [RandomBytes]byte) string {
	key := append(make([]byte, 0, Length), Prefix(kind, env)...)
	key = appendBase62(key, random[:], bodyLength)
	sum := sha256.Sum256(key)
	return string(appendBase62(key, sum[:4], checksumLength))
}

// Parse tells a key's kind and environment, or ok = false if it cannot be one.
func Parse(key string) (kind Kind, env Environment, ok bool) {
	if len(key) != Length {
		return 0, 0, false
	}
	for _, k := range []Kind{Gateway, Project} {
		for _, e := range []Environment{Production, Development} {
			if key[:prefixLength] == Prefix(k, e) {
				return k, e, checksumHolds(key)
			}
		}
	}
	return 0, 0, false
}

func checksumHolds(key string) bool {
	body := key[:Length-checksumLength]
	sum := sha256.Sum256([]byte(body))
	var want [checksumLength]byte
	return string(appendBase62(want[:0], sum[:4], checksumLength)) == key[len(body):]
}

// Hash names a key everywhere inside: its SHA-256 in hexadecimal.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return Hex(sum[:])
}

// Hex is lower-case hexadecimal.
func Hex(data []byte) string {
	const hexDigits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(data))
	for _, b := range data {
		out = append(out, hexDigits[b>>4], hexDigits[b&15])
	}
	return string(out)
}

// appendBase62 writes the big-endian number as exactly n digits, the most significant first.
func appendBase62(dst, number []byte, n int) []byte {
	rest := append([]byte(nil), number...)
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	for i := at + n - 1; i >= at; i-- {
		remainder := 0
		for j := range rest {
			v := remainder<<8 | int(rest[j])
			rest[j], remainder = byte(v/62), v%62
		}
		dst[i] = digits[remainder]
	}
	return dst
}
