package governor

// minPrefixed is the length from which random text after a service's prefix is a token. IDs of objects in public APIs
// look the same, but are shorter. After a prefix that says that a secret follows, minSaid is enough.
const minPrefixed, minSaid = 30, 20

// maxPrefix is the maximum length of the prefix of a token without a format of its own.
const maxPrefix = 32

// prefixed looks for a token of a service whose tokens have no format of their own. Such a token has a prefix of
// words in one case, each followed by a dash or an underscore. Random letters and digits come after the prefix. known
// is the length of a format's prefix that the word begins with, or 0. If it is not 0, the word may be a token of that
// format that was cut off. It is then a finding only if a part of its prefix says that a secret follows, and if the
// prefix is longer than known or every part says so.
func (s *Scanner) prefixed(v *view, start, end, known int) (next int, ok bool) {
	for end > start && v.text[end-1] == '.' {
		end--
	}
	word := v.text[start:end]
	body, said, shared := prefixEnd(word)
	if body == 0 || known > 0 && (!said || known >= body && !shared) || oneOf(v.at(start-1), "/\\.@#") || oneOf(v.at(end), "/(@:\\") {
		return 0, false
	}
	least := minPrefixed
	if said {
		least = minSaid
	}
	if len(word)-body < least || !isRandom(word[body:]) || isPublic(v.text, start, start+body) || isPlaceholder(word) || isSample(word) {
		return 0, false
	}
	return s.emit(v, ruleSecret, start, end)
}

// prefixEnd returns the length of a word's prefix, or 0 if there is none. said is true if a part of the prefix says
// that a secret follows, and shared is true if every part does.
func prefixEnd(word []byte) (body int, said, shared bool) {
	kinds := uint16(0)
	shared = true
	for i := 0; i < len(word) && i < maxPrefix; i++ {
		if b := word[i]; b != '-' && b != '_' {
			if kinds |= class[b] & (isLower | isUpper); class[b]&(isLower|isUpper|isDigit) == 0 || kinds == isLower|isUpper {
				break
			}
			continue
		}
		part := word[body:i]
		if i == body || !isLetterByte(part[0]) {
			break
		}
		if part[0]|0x20 == 's' && equalFold("sha", part[:min(3, len(part))]) || equalFold("nonce", part) || equalFold("pk", part) || equalFold("cs", part) {
			return 0, false, false // a hash, a publishable key, or a checkout session
		}
		says := false
		for _, word := range saying {
			says = says || equalFold(word, part)
		}
		said, shared = said || says, shared && says
		body, kinds = i+1, 0
	}
	return body, said, shared
}

// saying lists parts of prefixes that say that a secret follows.
var saying = [...]string{"sk", "key", "token", "pat", "secret", "api", "apikey", "live", "auth"}

// isRandom reports whether text consists of letters in both cases and digits that change often in each half, and
// otherwise only of dashes and underscores.
func isRandom(text []byte) bool {
	for _, b := range text {
		if !isAlnum(b) && b != '-' && b != '_' {
			return false
		}
	}
	half := len(text) / 2
	return mixed(text) && changes(text[:half])*3 >= half && changes(text[half:])*3 >= half && !runs(text) && spread(text) >= 2*minSpread
}
