package checksum

import "crypto/sha256"

const base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

var base58Value = reverse(base58Digits)

// reverse returns the table from a byte to its index in an alphabet, 255 for bytes outside it.
func reverse(alphabet string) (table [256]byte) {
	for i := range table {
		table[i] = 255
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = byte(i)
	}
	return table
}

// maxBase58 bounds the decoded bytes: an extended key (BIP 32) has 82.
const maxBase58 = 84

// Base58Check decodes base58 text whose last four bytes are the first four of the double SHA-256 of the others.
// It reports the first byte and the length without the checksum. Its time is the square of the text's length,
// which is at most 115.
// Source: https://en.bitcoin.it/wiki/Base58Check_encoding
func Base58Check(text []byte) (version byte, length int, ok bool) {
	if len(text) > 115 {
		return 0, 0, false
	}
	var out [maxBase58]byte // big-endian, filled from the end
	first := len(out)
	for _, c := range text {
		carry := uint(base58Value[c])
		if carry == 255 {
			return 0, 0, false
		}
		at := len(out)
		for at > first || carry > 0 {
			if at == 0 {
				return 0, 0, false
			}
			at--
			carry += uint(out[at]) * 58
			out[at] = byte(carry)
			carry >>= 8
		}
		first = at
	}
	for _, c := range text {
		if c != '1' || first == 0 {
			break
		}
		first-- // a leading 1 is a leading zero byte
	}
	return verified(out[first:])
}

// verified reports the first byte and the length of a payload that its double SHA-256 follows.
func verified(data []byte) (version byte, length int, ok bool) {
	if len(data) < 5 {
		return 0, 0, false
	}
	payload := data[:len(data)-4]
	sum := sha256.Sum256(payload)
	sum = sha256.Sum256(sum[:])
	return payload[0], len(payload), string(sum[:4]) == string(data[len(data)-4:])
}

const bech32Digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

var bech32Value = reverse(bech32Digits)

// Checksum constants of Bech32 (BIP 173) and Bech32m (BIP 350).
const (
	Bech32Constant  = 1
	Bech32mConstant = 0x2bc830a3
)

// Bech32 returns the checksum of text, in one case, whose human-readable part is its first prefix bytes, followed by
// '1': Bech32Constant or Bech32mConstant if it is valid, 0 if a byte is outside the alphabet.
// Source: https://github.com/bitcoin/bips/blob/master/bip-0173.mediawiki
func Bech32(text []byte, prefix int) uint32 {
	sum := uint32(1)
	for _, c := range text[:prefix] {
		sum = bech32Step(sum, lower(c)>>5)
	}
	sum = bech32Step(sum, 0)
	for _, c := range text[:prefix] {
		sum = bech32Step(sum, lower(c)&31)
	}
	for _, c := range text[prefix+1:] {
		v := bech32Value[lower(c)]
		if v == 255 {
			return 0
		}
		sum = bech32Step(sum, v)
	}
	return sum
}

func bech32Step(sum uint32, value byte) uint32 {
	top := sum >> 25
	sum = sum&0x1ffffff<<5 ^ uint32(value)
	for i, generator := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 == 1 {
			sum ^= generator
		}
	}
	return sum
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
