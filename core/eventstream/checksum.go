package eventstream

// table has the CRC of each four-bit value. A table of all byte values would be sixteen times as large. Messages are
// only a few hundred bytes long, so they do not justify it.
var table = [16]uint32{
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
}

// checksum returns the IEEE 802.3 CRC-32, least significant bit first, as in gzip (RFC 1952, section 8).
func checksum(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		sum = sum>>4 ^ table[sum&15]
		sum = sum>>4 ^ table[sum&15]
	}
	return ^sum
}
