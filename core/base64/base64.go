// Package base64 implements standard base64 encoding with padding (RFC 4648, section 4). The standard library's
// package has imports that the core must not use.
package base64

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// Append appends the encoding of data to dst.
func Append(dst, data []byte) []byte {
	for ; len(data) >= 3; data = data[3:] {
		n := uint(data[0])<<16 | uint(data[1])<<8 | uint(data[2])
		dst = append(dst, digits[n>>18&63], digits[n>>12&63], digits[n>>6&63], digits[n&63])
	}
	switch len(data) {
	case 1:
		n := uint(data[0]) << 16
		dst = append(dst, digits[n>>18&63], digits[n>>12&63], '=', '=')
	case 2:
		n := uint(data[0])<<16 | uint(data[1])<<8
		dst = append(dst, digits[n>>18&63], digits[n>>12&63], digits[n>>6&63], '=')
	}
	return dst
}
