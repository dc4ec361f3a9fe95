package governor

// A pattern describes a token. It consists of literal bytes and runs. A run {CLASS MIN-MAX} stands for bytes of a
// class, as in "ghp_{w36}" or "SG.{u22}.{u43}". A run takes as many bytes as it can, and there is no backtracking.
// Therefore, the literal after a run of variable length must begin with a byte outside the run's class. Classes:
//
//	d digits           x hexadecimal, lower case   X hexadecimal, any case   w letters and digits
//	u w, _ and -       b w, + and /                l lower case and digits   A upper case and digits
//	B A-Z and 2-7      a letters                   U upper case              = padding
//	v u and .          W w and _                   e b and =                 q [MNO]: Discord's first byte
//	z bech32, upper case                           t u, . and ~              p w, + and /, in a URL
//	c u, . and =       h w, . and /: crypt(3)
//
// patternClass in tables.go holds the classes of each byte.

// classBit returns the bit of a class in patternClass. Lowercase letters have the bits from 0 on. A has bit 26, B 27,
// U 28, W 29, X 30, and = 31.
func classBit(name byte) uint32 {
	switch name {
	case 'A':
		return 1 << 26
	case 'B':
		return 1 << 27
	case 'U':
		return 1 << 28
	case 'W':
		return 1 << 29
	case 'X':
		return 1 << 30
	case '=':
		return 1 << 31
	}
	return 1 << (name - 'a')
}

// element reads the element of a pattern at p. The element is a run or a literal byte. For a literal byte, bit is 0.
func element(pattern string, p int) (next int, literal byte, bit uint32, least, most int) {
	if pattern[p] != '{' {
		return p + 1, pattern[p], 0, 1, 1
	}
	bit = classBit(pattern[p+1])
	for p += 2; isDigitByte(pattern[p]); p++ {
		least = least*10 + int(pattern[p]-'0')
	}
	most = least
	if pattern[p] == '-' {
		most = 0
		for p++; isDigitByte(pattern[p]); p++ {
			most = most*10 + int(pattern[p]-'0')
		}
	}
	return p + 1, 0, bit, least, most
}

// match returns the end of the text at i that the pattern describes. If there is no such text, it returns -1. last is
// the class bit of the pattern's last element.
func match(v *view, i int, pattern string) (end int, last uint32) {
	for p := 0; p < len(pattern); {
		next, literal, bit, least, most := element(pattern, p)
		if bit == 0 {
			if v.at(i) != literal {
				return -1, 0
			}
			i++
		} else {
			from := i
			for i < from+most && patternClass[v.at(i)]&bit != 0 {
				i++
			}
			if i < from+least {
				return -1, 0
			}
		}
		p, last = next, bit
	}
	return i, last
}

// patternMax returns the maximum length of a text that a pattern describes.
func patternMax(pattern string) (longest int) {
	for p := 0; p < len(pattern); {
		next, _, _, _, most := element(pattern, p)
		longest += most
		p = next
	}
	return longest
}

// literalPrefix returns the literal bytes that a pattern begins with.
func literalPrefix(pattern string) string {
	for i := range len(pattern) {
		if pattern[i] == '{' {
			return pattern[:i]
		}
	}
	return pattern
}
