package governor

// minPrefixed is the length from which random text after a service's prefix is a token: IDs of objects in public APIs, which
// look the same, are shorter. After a prefix that says what it is, minSaid is enough.
const minPrefixed, minSaid = 30, 20

// maxPrefix is the longest prefix of a token that has no format of its own.
const maxPrefix = 32

// prefixed takes a word for a token of a service without a format of its own: words in one case, each with a dash or an
// underscore after it, and random letters and digits after these. known is the length of the prefix that a format has: one of its
// tokens that is cut off is none, unless all of the prefix is such as many services have.
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

// prefixEnd returns the length of a word's prefix, or 0, and whether a part of it, or each, says that a secret follows.
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
			return 0, false, false // a hash, a publishable key, a session of a checkout
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

// saying is parts of prefixes that say that a secret follows.
var saying = [...]string{"sk", "key", "token", "pat", "secret", "api", "apikey", "live", "auth"}

// isRandom reports whether each half of a text is letters of both cases and digits that change often, and nothing else is in
// it but dashes and underscores.
func isRandom(text []byte) bool {
	for _, b := range text {
		if !isAlnum(b) && b != '-' && b != '_' {
			return false
		}
	}
	half := len(text) / 2
	return mixed(text) && changes(text[:half])*3 >= half && changes(text[half:])*3 >= half && !runs(text) && spread(text) >= 2*minSpread
}
