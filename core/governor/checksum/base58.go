package checksum

import "crypto/sha256"

const base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

var base58Value = reverse(base58Digits)

func reverse(alphabet string) (table [256]byte) {
	for i := range table {
		table[i] = 255
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = byte(i)
	}
	return table
}

// maxBase58 limits the number of decoded bytes. An extended key (BIP 32) has 82 bytes.
const maxBase58 = 84

// Base58Check decodes base58 text that ends with a checksum. The checksum is the first four bytes of the double
// SHA-256 of the bytes before it. Base58Check returns the first byte and the length without the checksum. The running
// time is quadratic in the length of the text, which is at most 115 bytes. Source:
// https://en.bitcoin.it/wiki/Base58Check_encoding
func Base58Check(text []byte) (version byte, length int, ok bool) {
	if len(text) > 115 {
		return 0, 0, false
	}
	var out [maxBase58]byte // a big-endian number, filled from the end
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

// verified reports whether the last four bytes are the checksum of the payload before them: the first four bytes of
// its double SHA-256. It returns the payload's first byte and length.
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

// Bech32 returns the checksum of text, which must be in one case. The human-readable part is the first prefix bytes,
// followed by '1'. A valid checksum is Bech32Constant or Bech32mConstant. The result is 0 if a byte is outside the
// alphabet.
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
