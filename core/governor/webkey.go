package governor

// jsonWebKey looks for the private part of a JSON Web Key. The name of the key's type or curve ends before i. Source:
// RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1; RFC 8037, section 2.
func (s *Scanner) jsonWebKey(v *view, i int) (next int, ok bool) {
	for end := i + maxWebKey; i < end; i++ {
		switch b := v.at(i); {
		case b == 0 || b == '}':
			return 0, false
		case b == '"' && v.at(i+2) == '"' && oneOf(v.at(i+1), "dk"):
			from := v.blanks(i + len(`"d"`))
			if v.at(from) != ':' {
				continue
			}
			from = v.blanks(from+1) + 1
			to := from
			for to < from+maxJWT && (isAlnum(v.at(to)) || oneOf(v.at(to), "_-")) {
				to++
			}
			if v.at(from-1) == '"' && to >= from+20 {
				return s.emit(v, rulePrivateKey, from, to)
			}
		}
	}
	return 0, false
}

// maxWebKey limits the distance, in bytes, from a JSON Web Key's type to its private part. It leaves room for a
// modulus of 4,096 bits.
const maxWebKey = 1024
