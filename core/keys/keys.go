// Package keys defines the format of Postern's API keys:
//
//	sk_live_ + 23 base62 digits (136 random bits) + 6 base62 digits (checksum)
//
// sk_ marks a gateway key. pk_ marks a project key, which reads its project's usage and models. _live_ stands for
// production and _test_ for development. The checksum is the first 32 bits of the SHA-256 of the text before it, so a
// mistyped key is rejected without a lookup. Only the SHA-256 of the entire key is ever stored, and records are found
// by the entire hash.
package keys

import "crypto/sha256"

// Kind is the kind of a key: gateway or project.
type Kind uint8

const (
	Gateway Kind = 1 // sk_
	Project Kind = 2 // pk_
)

// Environment is the environment of a key.
type Environment uint8

const (
	Production  Environment = 1 // _live_
	Development Environment = 2 // _test_: test mode and lower limits
)

const (
	prefixLength   = 8
	bodyLength     = 23
	checksumLength = 6
	// Length is the length of every key in bytes.
	Length = prefixLength + bodyLength + checksumLength
	// RandomBytes is the number of random bytes that New takes.
	RandomBytes = 17
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Prefix returns the prefix of all keys of a kind and environment.
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

// New makes a key from fresh random bytes.
func New(kind Kind, env Environment, random [RandomBytes]byte) string {
	key := append(make([]byte, 0, Length), Prefix(kind, env)...)
	key = appendBase62(key, random[:], bodyLength)
	sum := sha256.Sum256(key)
	return string(appendBase62(key, sum[:4], checksumLength))
}

// Parse returns the kind and environment of a key. ok is false if the key is malformed.
func Parse(key string) (kind Kind, env Environment, ok bool) {
	if len(key) != Length {
		return 0, 0, false
	}
	for _, k := range []Kind{Gateway, Project} {
		for _, e := range []Environment{Production, Development} {
			if key[:prefixLength] == Prefix(k, e) {
				return k, e, checksumValid(key)
			}
		}
	}
	return 0, 0, false
}

// Ambiguous is the message for the field X-API-Key if a request has two different keys.
const Ambiguous = "and Authorization have different API keys; send one of them"

// Choose returns the key of a request with two credentials, either of which may be empty. It returns the well-formed
// key and ignores another vendor's credential beside it. If neither is well-formed, it returns the first one that is
// not empty. If both are well-formed and differ, ambiguous is true, because it is unclear which key's project should
// pay.
func Choose(first, second string) (key string, ambiguous bool) {
	if first == "" {
		return second, false
	}
	if _, _, ok := Parse(second); !ok || first == second {
		return first, false
	}
	if _, _, ok := Parse(first); ok {
		return "", true
	}
	return second, false
}

func checksumValid(key string) bool {
	body := key[:Length-checksumLength]
	sum := sha256.Sum256([]byte(body))
	var want [checksumLength]byte
	return string(appendBase62(want[:0], sum[:4], checksumLength)) == key[len(body):]
}

// Hash returns the internal name of a key, which is its SHA-256 in hexadecimal.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return Hex(sum[:])
}

// Hex encodes data in lowercase hexadecimal.
func Hex(data []byte) string {
	const hexDigits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(data))
	for _, b := range data {
		out = append(out, hexDigits[b>>4], hexDigits[b&15])
	}
	return string(out)
}

// appendBase62 appends a big-endian number as exactly n digits, most significant first.
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
