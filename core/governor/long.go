package governor

// RulePrivateKey is the rule for private keys. They are the longest findings: see LongKey.
const RulePrivateKey = rulePrivateKey

// longestEnd is greater than the length of a private key's END line.
const longestEnd = 72

// LongKey examines a window in which Next has not decided any bytes. If a private key starts at the index start and
// later bytes can change only where the key ends, ok is true. The text before start contains no finding. A stream
// then need not hold the key back: it continues with SkipKey.
func (s *Scanner) LongKey(window []byte) (start int, ok bool) {
	if !s.rules.Has(rulePrivateKey) || s.wordAt != s.base || s.rules.keywords != nil && s.keywords != (keywordState{read: s.base}) ||
		s.rules.patterns != nil && s.customAt != s.base {
		return 0, false
	}
	v := view{text: window, tail: s.tail}
	for ; start < len(window) && class[window[start]]&isJoint != 0 && window[start] != '+'; start++ {
		if window[start] != '-' || !v.has(start, "-----BEGIN ") {
			continue
		}
		found := len(s.found)
		probe := Scanner{rules: s.rules}
		_, ok = probe.privateKey(&v, start)
		s.found = s.found[:found]
		return start, ok
	}
	return 0, false
}

// SkipKey decides the next bytes of a private key. The parameter most is the maximum number of bytes left in the key.
// n is the number of bytes of window that SkipKey decided. If the key ends after those bytes, ended is true, and Next
// must scan the rest of the window. Otherwise, the next window must begin with the rest.
func (s *Scanner) SkipKey(window []byte, most int, final bool) (n int, ended bool) {
	v := view{text: window, tail: s.tail}
	n = keyEnd(&v, 0, most)
	if ended = !v.past || final; !ended {
		n = max(0, len(window)-longestEnd)
	}
	n = min(n, len(window))
	for i := range s.tail {
		s.tail[i] = v.at(n - tailLength + i)
	}
	s.base += n
	s.wordAt, s.inLong = s.base, false
	s.keywords, s.customAt = keywordState{read: s.base}, s.base
	return n, ended
}

// MaxPrivateKey is the maximum length, in bytes, of a private key that is found.
const MaxPrivateKey = maxPrivateKey
