package governor

// minPrefixed is the minimum length, in bytes, of the random text after a service's prefix in a token. IDs of objects
// in public APIs look the same, but are shorter. If the prefix says that a secret follows, the minimum is minSaid.
const minPrefixed, minSaid = 30, 20

// maxPrefix is the maximum length, in bytes, of the prefix of a token without a format of its own.
const maxPrefix = 32

// prefixed looks for a token of a service whose tokens have no format of their own. Such a token has a prefix and
// then random letters and digits. The prefix consists of words in one case. A dash or an underscore follows each of
// the words. If the word begins with the prefix of a format, known is the length of that prefix. Otherwise, known is
// 0. If known is not 0, the word may be a token of that format with the end cut off. In that case, it is a finding
// only under two conditions. First, a part of its prefix says that a secret follows. Second, the prefix is longer
// than known, or every part of it says so.
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

// prefixEnd returns the length of a word's prefix. If there is no prefix, the length is 0. If a part of the prefix
// says that a secret follows, said is true. If every part does, shared is true.
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

// saying lists the parts of prefixes that say that a secret follows.
var saying = [...]string{"sk", "key", "token", "pat", "secret", "api", "apikey", "live", "auth"}

// isRandom reports whether text looks random. It consists of digits and of letters in both cases, and these change
// often in each half. It may also contain dashes and underscores, but nothing else.
func isRandom(text []byte) bool {
	for _, b := range text {
		if !isAlnum(b) && b != '-' && b != '_' {
			return false
		}
	}
	half := len(text) / 2
	return mixed(text) && changes(text[:half])*3 >= half && changes(text[half:])*3 >= half && !runs(text) && spread(text) >= 2*minSpread
}
