package governor

import (
	"bytes"

	"github.com/postern-ai/postern/core/governor/checksum"
)

// sampleKeys lists the CRC-32 checksums of keys that vendors publish as samples. The list has checksums instead of
// keys, so the secret scanners of code hosts do not report this file. credential_test.go has the keys in pieces, with
// their sources.
var sampleKeys = [...]uint32{
	0x776de070, 0x396d8142, 0xab4d2e47, 0xb4cbd586, 0x87707360, 0xcea67886, 0x2b6eff54, 0x6b6cbffe,
}

// isSample reports whether a token is a vendor's sample. A sample contains EXAMPLE, as in AKIAIOSFODNN7EXAMPLE, or is
// one of sampleKeys.
func isSample(token []byte) bool {
	if bytes.Contains(token, []byte("EXAMPLE")) {
		return true
	}
	sum := checksum.CRC32(token)
	for _, one := range sampleKeys {
		if one == sum {
			return true
		}
	}
	return false
}

// scheme looks at the value at from. In the header "authorization", the name of a scheme and a space may come before
// the secret. If the value is a user name and password in base64, the base64 is the finding. The Basic scheme
// requires that form, but other values may have it too. Otherwise, next is where the secret begins, or -1 if there is
// none. Source: RFC 9110, section 11.4; RFC 7617.
func (s *Scanner) scheme(v *view, from int, subject context) (next int, ok bool) {
	next = from
	basic := false
	if end := v.run(from, 20, inWord); subject&aboutHeader != 0 && v.at(end) == ' ' && end > from && isLetterByte(v.text[from]) {
		next = v.spaces(end)
		if basic = equalFold("basic", v.text[from:end]); !basic {
			return next, false
		}
	} else if subject&aboutHeader != 0 {
		return from, false
	}
	end, ok := s.userPassword(v, next)
	if ok {
		return s.emit(v, rulePassword, next, end)
	}
	if end < 0 && basic {
		return -1, false
	}
	return next, false
}

// userPassword returns the end of the base64 at from that encodes a user name, a colon and a password. If the base64
// encodes something else, ok is false and end is from. If the pair is too short or the password is a placeholder, ok
// is false and end is -1.
func (s *Scanner) userPassword(v *view, from int) (end int, ok bool) {
	for end = from; end < from+maxValue && value64(v.at(end)) < 64; end++ {
	}
	if end < from+8 {
		return from, false
	}
	var plain [maxValue * 3 / 4]byte
	n, _ := decode64(plain[:], v.text[from:end], 0)
	colon := bytes.IndexByte(plain[:n], ':')
	for _, b := range plain[:n] {
		if b < ' ' || b >= 0x7f || b == '"' { // not JSON
			return from, false
		}
	}
	if colon < 0 {
		return from, false
	}
	if password := plain[colon+1 : n]; n < 6 || len(password) > 0 && isBlank(password) {
		return -1, false
	}
	for v.at(end) == '=' && end < from+maxValue {
		end++
	}
	return end, true
}

func isBlank(password []byte) bool {
	return isPlaceholder(password) || isNameOfPassword(password) || containsFold(password, "password")
}

// userOption looks for the password after curl's option for a user name and password. The option is the word [start,
// end). Other programs have options of the same name with another meaning. Source:
// https://curl.se/docs/manpage.html#-u
func (s *Scanner) userOption(v *view, start, end int) (next int, ok bool) {
	if s.since(aboutCommand, start) > nearCommand || !isUserOption(v.text[start:end]) {
		return 0, false
	}
	i := v.spaces(end)
	if i == end && v.at(i) == '=' {
		i++
	}
	if oneOf(v.at(i), "\"'`") {
		i++
	}
	colon := i
	for ; colon < i+maxEmail && v.at(colon) != ':'; colon++ {
		if b := v.at(colon); b <= ' ' || b >= 0x7f || oneOf(b, "\"'`\\$<{") {
			return 0, false
		}
	}
	from := colon + 1
	quote := v.at(from)
	if oneOf(quote, "\"'`") {
		from++
	}
	to := from
	for ; to < from+maxValue; to++ {
		if b := v.at(to); b <= ' ' || b >= 0x7f || oneOf(b, "\"'`\\;|") {
			break
		}
	}
	if to == from && colon > i { // the key takes the place of the user name
		from, to = i, colon
	}
	if to-from < 4 || to-from == maxValue {
		return 0, false
	}
	value := v.text[from:to]
	if isBlank(value) || !isPassword(value) && changes(value) < 3 {
		return 0, false
	}
	return s.emit(v, rulePassword, from, to)
}

// loginOption looks for the password after the option -p of a command that logs in: docker login -p …, mysql -p…. The
// option is the word [start, end).
func (s *Scanner) loginOption(v *view, start, end int) (next int, ok bool) {
	if end < start+2 || v.text[start+1]|0x20 != 'p' || v.at(start-1) == '-' || s.since(aboutLogin, start) > nearBefore {
		return 0, false
	}
	from := start + 2
	if from == end && v.at(end) == ' ' {
		from++
	}
	from, quote := opened(v, from)
	if from < 0 {
		return 0, false
	}
	return s.wholeValue(v, from, valueEnd(v, from, quote), quote, aboutPassword, false)
}

// isUserOption reports whether a word is --user, --proxy-user, or a group of short options that ends with u, such as
// -sku.
func isUserOption(word []byte) bool {
	if len(word) < 2 || word[1] == '-' {
		return equalFold("--user", word) || equalFold("--proxy-user", word)
	}
	for _, b := range word[1:] {
		if !isLetterByte(b) {
			return false
		}
	}
	return len(word) <= 6 && word[len(word)-1]|0x20 == 'u'
}
