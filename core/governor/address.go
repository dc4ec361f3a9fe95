package governor

// prefixLength returns the length of the prefix that follows an address, as in 10.0.0.0/8, or -1 if there is none.
func prefixLength(v *view, i int) int {
	length, n := decimal(v, i+1)
	if v.at(i) != '/' || n == 0 || n > 3 || !v.closed(i+1+n) {
		return -1
	}
	return length
}

// isNetwork reports whether an IPv4 address is that of a network, not of a host. A network's address has a prefix
// length, and all bits after the prefix are zero.
func isNetwork(v *view, part *[4]int, i int) bool {
	length := prefixLength(v, i)
	address := uint32(part[0]<<24 | part[1]<<16 | part[2]<<8 | part[3])
	return length >= 0 && length < 32 && address<<length == 0
}

// dottedAddress looks for an IPv4 address: four decimal numbers up to 255 without leading zeros. Numbers after a word
// about versions are not an address. The addresses 0.0.0.0, 127.0.0.0/8, 255.255.255.255 and masks are not findings,
// because they cannot belong to a host on the internet or in a private network. Source: RFC 791, RFC 6890.
func (s *Scanner) dottedAddress(v *view, start int) (next int, ok bool) {
	part, i := quad(v, start)
	if i < 0 || !v.closed(i) || v.at(i) == '-' || v.at(i) == '.' && isAlnum(v.at(i+1)) || part[0] == 0 || part[0] == 127 || part[0] == 255 && part[1] == 255 {
		return 0, false
	}
	product := v.at(start-1) == '/' && isLetterByte(v.at(start-2)) // Chrome/126.4.12.20
	if product || s.isArticle(v, start) && !s.about(v, aboutNetwork, start, i) || part[1]|part[2]|part[3] == 0 || isNetwork(v, &part, i) || v.at(start-1) == '=' && v.at(start-2) == '=' {
		return 0, false
	}
	if inPath(v, start) && !s.about(v, aboutNetwork, start, i) {
		return 0, false
	}
	if small := part[0] < 10 && max(part[1], part[2], part[3]) <= 20; small && (part[0] != part[1] || part[2] != part[3]) && !s.about(v, aboutNetwork, start, i) {
		return 0, false // the number of a section
	}
	return s.emit(v, ruleIPv4, start, i)
}

// inPath reports whether the text before i looks like the path data of an SVG image, such as "1.52-.87 3.51.98.32".
// Such data has a minus sign before i, or a decimal number and a separator.
func inPath(v *view, i int) bool {
	switch v.at(i - 1) {
	case '-':
		return !isLetterByte(v.at(i - 2))
	case ' ', ',':
	default:
		return false
	}
	dots, digits := 0, 0
	for n := 2; n <= tailLength; n++ {
		switch b := v.at(i - n); {
		case isDigitByte(b):
			digits++
		case b == '.':
			dots++
		default:
			return dots == 1 && digits > 0
		}
	}
	return false
}

// quad reads four decimal numbers up to 255 with dots between them. If there are none, end is -1.
func quad(v *view, i int) (part [4]int, end int) {
	for n := range 4 {
		from := i
		for isDigitByte(v.at(i)) && i < from+4 {
			part[n] = part[n]*10 + int(v.at(i)-'0')
			i++
		}
		if i == from || i > from+3 || part[n] > 255 || i > from+1 && v.at(from) == '0' || n < 3 && v.at(i) != '.' {
			return part, -1
		}
		i++
	}
	return part, i - 1
}

// colonAddress looks for an IPv6 or MAC address whose first group is the word [start, end). A colon follows the word.
func (s *Scanner) colonAddress(v *view, start, end int) (next int, ok bool) {
	if end-start > 4 || v.run(start, 5, isHex) != end {
		return 0, false
	}
	if end-start == 2 {
		if next, ok = s.mac(v, start); ok {
			return next, true
		}
	}
	return s.ipv6(v, start)
}

// ipv6 looks for an IPv6 address. The address may have a zone: fe80::1%eth0. Loopback and unspecified addresses are
// not findings. Source: RFC 4291, section 2.2.
func (s *Scanner) ipv6(v *view, start int) (next int, ok bool) {
	if b := v.at(start - 2); v.at(start-1) == ':' && (isDigitByte(b) || b == ':') {
		return 0, false // part of something else
	}
	i, long := groupsOfIPv6(v, start)
	if long == 0 || long < 3 && (!isDigitByte(v.at(start)) || v.at(start-1) == ':' || !s.about(v, aboutNetwork, start, i)) || !v.closed(i) || v.at(i) == ':' || v.at(i) == '.' && isAlnum(v.at(i+1)) {
		return 0, false
	}
	if length := prefixLength(v, i); length >= 0 && length < 128 && v.at(i-1) == ':' {
		return 0, false // a network
	}
	if end := v.run(i+1, 16, isLower|isUpper|isDigit); v.at(i) == '%' && end > i+1 {
		i = end
	}
	return s.emit(v, ruleIPv6, start, i)
}

// groupsOfIPv6 reads an IPv6 address: eight groups of up to four hexadecimal digits, or fewer groups and one "::".
// The last two groups may be an IPv4 address: ::ffff:192.168.1.20. It returns the end of the groups and the length of
// the longest group. If the groups do not form an address, the length is 0.
func groupsOfIPv6(v *view, i int) (end, long int) {
	groups, gap := 0, false
	if v.at(i) == ':' {
		if v.at(i+1) != ':' || class[v.at(i-1)]&inWord != 0 {
			return i, 0
		}
		gap = true
		i += 2
	}
	for groups < 8 {
		if part, last := quad(v, i); last > 0 && groups > 0 && groups <= 6 {
			if groups, i, long = groups+2, last, 4; part[0] == 0 || part[0] == 127 || part[0] == 255 {
				return i, 0
			}
			break
		}
		if end = v.run(i, 5, isHex); end == i || end > i+4 {
			break
		}
		long = max(long, end-i)
		groups++
		i = end
		if v.at(i) != ':' {
			break
		}
		if v.at(i+1) == ':' && !gap {
			gap = true
			i += 2
			continue
		}
		if class[v.at(i+1)]&isHex == 0 {
			break
		}
		i++
	}
	return i, longGroup(groups, long, gap)
}

// longGroup corrects the length of the longest group if the number of groups is unusual. If an address cannot have
// that number of groups, longGroup returns 0.
func longGroup(groups, long int, gap bool) int {
	switch {
	case groups == 8 == gap || groups == 0:
		return 0
	case groups == 1:
		return 1
	case gap && groups > 3: // only an address has more than three groups and a gap
		return 4
	}
	return long
}

// mac looks for a MAC address: six or eight pairs of hexadecimal digits with colons or dashes, or three or four
// groups of four digits with dots. Its digits must not all be the same. Source: IEEE 802, section 8.1. Cisco IOS uses
// the form with dots.
func (s *Scanner) mac(v *view, start int) (next int, ok bool) {
	group, sep := 2, v.at(start+2)
	if v.at(start+4) == '.' {
		group, sep = 4, '.'
	}
	if group == 2 && sep != ':' && sep != '-' || v.at(start-1) == sep && isAlnum(v.at(start-2)) {
		return 0, false
	}
	same, kinds, digits, end := true, uint16(0), 0, start
	for ; digits < 20; digits, end = digits+group, end+1 {
		for to := end + group; end < to; end++ {
			b := v.at(end)
			if class[b]&isHex == 0 {
				return 0, false
			}
			same = same && b == v.at(start)
			kinds |= class[b]
		}
		if v.at(end) != sep || class[v.at(end+1)]&isHex == 0 {
			digits += group
			break
		}
	}
	if same || digits != 12 && digits != 16 || !v.closed(end) || v.at(end) == sep && isAlnum(v.at(end+1)) {
		return 0, false
	}
	if group == 4 && (kinds&(isLower|isUpper) == 0 || kinds&isDigit == 0) {
		return 0, false // dead.beef.cafe
	}
	return s.emit(v, ruleMAC, start, end)
}
