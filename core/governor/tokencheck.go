package governor

import (
	"bytes"

	"github.com/postern-ai/postern/core/governor/checksum"
	"github.com/postern-ai/postern/core/keys"
)

// check is a condition for a token in addition to its pattern. If check is 0, there is no condition.
type check uint8

const (
	ofPostern check = iota + 1
	ofGitHub
	ofAge
	ofDiscord
	ofPastHex
	ofVaried
	ofMixed
	ofOpenAI
)

func (c check) accepts(token []byte) bool {
	switch c {
	case ofPostern:
		return posternKey(token)
	case ofGitHub:
		return githubToken(token)
	case ofAge:
		return ageKey(token)
	case ofDiscord:
		return discordToken(token)
	case ofPastHex:
		return pastHex(token)
	case ofVaried:
		return varied(token)
	case ofMixed:
		return mixed(token)
	case ofOpenAI:
		return bytes.Contains(token, []byte("T3BlbkFJ")) // "OpenAI" in base64
	}
	return true
}

// posternKey verifies the checksum in one of Postern's own keys.
func posternKey(token []byte) bool {
	_, _, ok := keys.Parse(string(token))
	return ok
}

// githubToken verifies the last six characters. They are the CRC-32, in base62, of the characters between the prefix
// and them. Source: https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
func githubToken(token []byte) bool {
	body, last := token[4:len(token)-6], token[len(token)-6:]
	sum, ok := checksum.Base62(last)
	return ok && sum == checksum.CRC32(body)
}

// ageKey checks the Bech32 checksum. Source: https://github.com/C2SP/C2SP/blob/main/age.md
func ageKey(token []byte) bool {
	return checksum.Bech32(token, len("AGE-SECRET-KEY-")) == checksum.Bech32Constant
}

// discordToken checks the first part of a token: it must be the base64 of a decimal user ID. If it is not, the first
// and the last part must look random.
func discordToken(token []byte) bool {
	var id [24]byte
	n, ok := decode64(id[:], token, '.')
	for _, b := range id[:n] {
		ok = ok && isDigitByte(b)
	}
	first, last := bytes.IndexByte(token, '.'), bytes.LastIndexByte(token, '.')
	return ok && n >= 16 || mixed(token[:first]) && mixed(token[last+1:])
}

// pastHex requires a digit and a letter after f. A hash in hexadecimal has no such letter.
func pastHex(token []byte) bool {
	digit, letter := false, false
	for _, b := range token {
		digit = digit || isDigitByte(b)
		letter = letter || class[b]&isHex == 0
	}
	return digit && letter
}

// varied requires that the case or kind of the bytes changes as often as in random text.
func varied(token []byte) bool { return changes(token)*5 >= len(token) }

// mixed requires lower case, upper case and digits. It is for formats without a distinctive prefix.
func mixed(token []byte) bool {
	kinds := uint16(0)
	for _, b := range token {
		kinds |= class[b]
	}
	return kinds&(isLower|isUpper|isDigit) == isLower|isUpper|isDigit && changes(token)*4+4 >= len(token)
}

// changes counts the places where the bytes change between lower case, upper case and digits. A capital at the
// beginning of a word does not count. In names in code, there are at least five bytes between two such places. In
// random text, there are about two bytes.
func changes(text []byte) (n int) {
	before, single := uint16(0), false
	for _, b := range text {
		kind := class[b] & (isLower | isUpper | isDigit)
		if kind != 0 && before != 0 && kind != before && (kind != isLower || !single) {
			n++
		}
		single = kind == isUpper && before != isUpper
		before = kind
	}
	return n
}
