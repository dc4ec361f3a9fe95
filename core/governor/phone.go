package governor

// phoneNumber holds the digits and groups of text that may be a phone number.
type phoneNumber struct {
	digits [20]byte
	n      int
	groups [12]uint8 // lengths
	ends   [12]int   // of each group in the text
	count  int
	paren  bool // parentheses enclose the first group, or the group after the country code
	open   bool // a parenthesis is open where the next group is read
	wide   bool // two spaces separate two groups, as between columns
	seps   uint8
}

// Separators of a phone number, as bits of seps.
const (
	sepSpace = 1 << iota
	sepDash
	sepDot
	sepSlash
)

// read reads digits with the usual separators from i on. If paren is set, a parenthesis is open before i.
func (p *phoneNumber) read(v *view, i int, paren bool) {
	*p = phoneNumber{paren: paren}
	for p.count < len(p.groups) {
		from := i
		for isDigitByte(v.at(i)) && p.n < len(p.digits) {
			p.digits[p.n] = v.at(i)
			p.n++
			i++
		}
		if i == from {
			return
		}
		p.groups[p.count], p.ends[p.count] = uint8(i-from), i
		p.count++
		seps, paren := p.seps, p.paren
		i = p.separator(v, i)
		if i < 0 {
			p.seps, p.paren = seps, paren // what follows is not part of the number
			return
		}
		p.wide = p.wide || v.at(i-1) == ' ' && v.at(i-2) == ' '
	}
}

// separator returns the start of the next group of digits after i, or -1 if there is none.
func (p *phoneNumber) separator(v *view, i int) int {
	inside := p.paren && p.count == 1 || p.open
	p.open = false
	for range 3 {
		b := v.at(i)
		switch {
		case isDigitByte(b):
			return i
		case b == ' ':
			p.seps |= sepSpace
		case b == '-':
			p.seps |= sepDash
		case b == '.':
			p.seps |= sepDot
		case b == '/':
			p.seps |= sepSlash
		case b == '(' && p.count == 1 && !inside: // also (+31) (6) 1234 5678
			p.paren, p.open = true, true
		case b == ')' && inside:
			inside = false
		default:
			return -1
		}
		i++
	}
	if isDigitByte(v.at(i)) {
		return i
	}
	return -1
}

// phone looks for a phone number at a plus sign, a digit or an opening parenthesis.
func (s *Scanner) phone(v *view, start int) (next int, ok bool) {
	first := v.text[start]
	if first == '+' {
		return s.international(v, start)
	}
	from := start
	if first == '(' {
		from = start + 1
		if v.at(from) == '+' {
			return s.international(v, from)
		}
		if !isDigitByte(v.at(from)) {
			return 0, false
		}
	}
	p := &s.scratch.phone
	p.read(v, from, first == '(' || v.at(start-1) == ' ' && v.at(start-2) == '(') // ( 800 ) 555-0132
	p.cut(v)
	if first == '(' && v.at(p.ends[0]) != ')' {
		return 0, false
	}
	return s.national(v, start, p)
}

// international looks for a number in E.164 form with optional separators. Sources: ITU-T E.123, E.164. callingCodes
// lists the country codes and lengths.
func (s *Scanner) international(v *view, plus int) (next int, ok bool) {
	from := plus + 1
	if !isDigitByte(v.at(from)) && v.at(from) != '(' || isAlnum(v.at(plus-1)) {
		return 0, false
	}
	open := v.at(from) == '('
	if open {
		from++
	}
	p := &s.scratch.phone
	p.read(v, from, open || v.at(plus-1) == '(') // (+41) 22 730 5989
	code, least, most := callingCode(p.digits[:p.n])
	best := -1
	if code != 0 {
		if best = p.longest(code, least, most); best < 0 && p.count > 1 {
			best = p.longest(code, max(least-1, 6), most+1) // the numbering plan may have changed, or the number may be an example
		}
	}
	if best < 0 && p.n >= 8 && p.n <= 15 && s.since(aboutPhone, plus) <= 24 {
		code, best = 1, p.count-1 // a word about phones is better evidence than the length: lengths may have changed
	}
	if best < 0 || !v.closed(p.ends[best]) && extension(v, p.ends[best]) == p.ends[best] || s.since(aboutArticle, plus) <= 12 && s.since(aboutPhone, plus) > nearBefore {
		return 0, false
	}
	end := p.ends[best]
	if b := v.at(end); (b == '.' || b == '-' || b == ',') && isDigitByte(v.at(end+1)) || runsOfOne(p.digits[:p.n]) {
		return 0, false
	}
	return s.emit(v, rulePhone, plus, extension(v, end))
}

// cut handles two national numbers with a space between them: 052 5552606 074-7111234. It keeps only the first.
func (p *phoneNumber) cut(v *view) {
	total := 0
	for k := 0; p.n > 12 && p.digits[1] != '0' && k+1 < p.count; k++ {
		total += int(p.groups[k])
		if total >= 9 && p.n-total >= 9 && v.at(p.ends[k]) == ' ' && v.at(p.ends[k]+1) == '0' {
			p.count, p.n = k+1, total
		}
	}
}

// longest returns the index of the last group of a national number. It takes as many groups as possible, so that they
// have from least to most digits after the country code. A trunk zero, as in +49 (0)30, does not count as a digit. If
// there is no such group, longest returns -1.
func (p *phoneNumber) longest(code, least, most int) (best int) {
	total := 0
	best = -1
	for i := range p.count {
		total += int(p.groups[i])
		if i == 1 && p.groups[1] == 1 && p.digits[p.groups[0]] == '0' && p.paren {
			most++
			least++
		}
		if national := total - code; national >= least && national <= most && total <= 16 {
			best = i
		}
	}
	return best
}

// runsOfOne reports whether all digits are the same: +0000000000.
func runsOfOne(digits []byte) bool {
	for _, d := range digits {
		if d != digits[0] {
			return false
		}
	}
	return true
}

// national looks for a number in a national form. If there is no word about phones nearby, the form must be rare in
// other text.
func (s *Scanner) national(v *view, start int, p *phoneNumber) (next int, ok bool) {
	call := p.count == 1 && v.at(start-1) == '(' && isAlnum(v.at(start-2))                                      // uintptr(50000000)
	short := p.n == 6 && p.shape() == "222" && p.seps == sepSpace && s.since(aboutPhone|aboutCall, start) <= 24 // 33 93 31 in Greenland
	if p.n < 7 && !short || p.n > 15 || v.at(start-1) == '#' && s.since(aboutPhone, start) > len(" #") || call {
		return 0, false
	}
	end := p.ends[p.count-1]
	if b := v.at(end); !v.closed(end) && extension(v, end) == end || (oneOf(b, ".:-/") || b == ',' && (p.count == 1 || p.groups[p.count-1] < 4)) && isDigitByte(v.at(end+1)) {
		return 0, false
	}
	before := v.at(start - 1)
	if before == '=' && p.count == 1 && s.since(aboutPhone, start) > 16 || before == ':' && isDigitByte(v.at(start-2)) { // vis=40000500, 16:14:07.860
		return 0, false
	}
	if before == '$' || before == '/' || before == ',' && isDigitByte(v.at(start-2)) && !isDigitByte(v.at(start-5)) || isAlnum(before) {
		return 0, false
	}
	inRow := before == ' ' && isDigitByte(v.at(start-2)) || p.groups[0] == 4 && behindGroup(v, start)
	if before != '=' && !inRow && p.clear() && !s.isArticle(v, start) || p.plausible() && (s.about(v, aboutPhone, start, end) || (p.count > 1 || p.n > 9) && s.about(v, aboutCall, start, end)) {
		return s.emit(v, rulePhone, start, extension(v, end))
	}
	return 0, false
}

// behindGroup reports whether a space comes before i, and a group of four capitals or digits before the space. At
// least one of the four is a capital. Such a group may be part of a rejected bank account number, as in NL91 ABNA
// 0417.
func behindGroup(v *view, i int) bool {
	kinds := uint16(0)
	for n := 2; n < 6; n++ {
		if kinds |= class[v.at(i-n)]; class[v.at(i-n)]&(isUpper|isDigit) == 0 {
			return false
		}
	}
	return v.at(i-1) == ' ' && kinds&isUpper != 0 && !isAlnum(v.at(i-6))
}

// extension returns the end of the extension after a number: x123, ext. 123, Extension 12.
func extension(v *view, i int) int {
	at := v.run(i, 2, joinsDigits) // spaces
	end := v.run(at, 9, isLower|isUpper)
	word := [9]byte{}
	for n := range end - at {
		word[n] = v.at(at+n) | 0x20
	}
	switch string(word[:end-at]) {
	case "x", "ext", "extn", "extension":
	default:
		return i
	}
	for at = end; at < end+2 && oneOf(v.at(at), ". "); {
		at++
	}
	if end = v.run(at, 6, isDigit); end > at && v.closed(end) {
		return end
	}
	return i
}

// plausible rejects dates, decimals, amounts and numbers in separate columns. It also rejects a long first group if
// other groups follow.
func (p *phoneNumber) plausible() bool {
	if p.count == 3 && p.groups[0] == 4 && p.groups[1] == 2 && p.groups[2] == 2 || p.count == 3 && p.groups[0] <= 2 && p.groups[1] <= 2 && p.groups[2] == 4 && !p.paren {
		return false // 2026-11-22, 22.11.2026
	}
	decimal := p.count == 2 && p.seps == sepDot || p.seps == sepDot && p.count == 3 && p.n < 9 && p.groups[1] == 3 && p.groups[2] == 3
	return !decimal && !p.wide && !p.isAmount() && (p.count == 1 || p.groups[0] <= 8)
}

// clear reports whether a number's form is enough to show that it is a phone number: (415) 555-0132, 415-555-0132, 01
// 23 45 67 89, 0171 1234567, 020 7946 0018. Source: ITU-T E.123, section 2, and the national plans that it names.
func (p *phoneNumber) clear() bool {
	g, d := p.groups[:p.count], p.digits[:p.n]
	switch p.shape() {
	case "324":
		return false // a US social security number
	case "1334":
		if d[0] == '1' {
			return northAmerican(d[1:], g[1:])
		}
		return d[0] == '0' || p.paren
	case "334": // if there are only spaces, it may be a row of numbers: 256 512 1024
		if northAmerican(d, g) && p.seps != sepSpace {
			return true
		}
	case "244", "254": // 11 91234-5678
		if p.seps == sepSpace|sepDash && d[0] != '0' && !isCentury(d[p.n-4], d[p.n-3]) {
			return true
		}
	case "13322": // 8 (495) 123-45-67, 0 532 123 45 67
		return d[0] == '0' || p.paren
	case "3322": // 532 123-45-67
		if d[0] > '1' && (p.seps&sepDash != 0 || d[0] == '5' && p.seps == sepDot) {
			return true
		}
	case "344": // 138-1234-5678
		if d[0] == '1' && d[1] > '2' && (p.seps == sepDash || p.seps == sepSpace) {
			return true
		}
	case "2244", "2334", "2344", "3334": // 82-10-1234-5678
		if p.seps == sepDash && p.abroad() {
			return true
		}
	}
	abroad := p.paren && p.count >= 3 && g[0] > 1 && p.abroad() // 55 (11) 91234-5678
	if p.paren && p.count >= 2 && (abroad || g[0] >= 2 && g[0] <= 5 && p.n >= 9 && p.n <= 12 || g[0] == 1 && g[1] == 3 && p.n == 11) {
		return true
	}
	return p.count >= 2 && p.n >= 9 && d[0] == '0' && p.trunked()
}

// abroad reports whether the first group is a country code and the other groups have the right number of digits for
// that country.
func (p *phoneNumber) abroad() bool {
	code, least, most := callingCode(p.digits[:p.n])
	return code == int(p.groups[0]) && p.n-code >= least && p.n-code <= most
}

// shape returns the lengths of the groups. Each length is one digit.
func (p *phoneNumber) shape() string {
	var shape [len(p.groups)]byte
	for i := range p.count {
		shape[i] = '0' + p.groups[i]
	}
	return string(shape[:p.count])
}

// trunked does the same as clear for a number that begins with a trunk zero, or with the prefix of an international
// call.
func (p *phoneNumber) trunked() bool {
	first, seps := p.groups[0], p.seps&^sepSpace
	exit := 2 // 0044 20 7946 0018
	if p.groups[0] == 3 && p.digits[1] == '1' && p.digits[2] == '1' {
		exit = 3 // 011-44-20-7946-0018
	}
	code, least, most := callingCode(p.digits[exit:p.n])
	national := p.n - exit - code
	if abroad := code != 0 && first >= 2 && first <= 5 && seps&^sepDash == 0 && national >= max(least, 8) && national <= most; p.digits[1] == '0' || exit == 3 && abroad {
		return abroad
	}
	if p.n > 12 || first > 5 {
		return false
	}
	switch p.shape() {
	case "333", "54": // 02110-1301 is a postcode
		return false
	case "22222":
		return true
	case "244", "3322": // 02 9876 5432, 070-123 45 67
		return seps&^sepDash == 0
	}
	switch {
	case p.count > 2 && p.even():
		return true
	case p.count == 2 && seps != sepDot:
		return first >= 3 || p.seps == sepDash // 0171 1234567, 0171/1234567, 02-1234567
	case p.count == 3 && seps == sepDash:
		return first >= 2 && first <= 4 && p.groups[2] == 4 && p.n <= 11 // 080-2467-1359
	}
	return seps == 0 && first >= 3
}

// even reports whether the number has nine to eleven digits, and each group after the first has two to four: 02 345
// 67 89, 0411-322-226. Dates have other groups, and IP addresses with leading zeros have more dots.
func (p *phoneNumber) even() bool {
	if p.n < 9 || p.n > 11 || p.digits[1] == '0' || p.seps&sepSlash != 0 || p.seps&sepDot != 0 && p.count > 3 || p.shape() == "224" || p.groups[0] == 1 && p.seps != sepSpace {
		return false
	}
	for _, g := range p.groups[1:p.count] {
		if g < 2 || g > 4 {
			return false
		}
	}
	return true
}

// northAmerican checks ten digits in groups of 3, 3 and 4: the area code and the exchange must be possible. It also
// accepts numbers that are common in examples: the area code 555 with any exchange, and numbers like 123-456-7890.
// Source: https://nationalnanpa.com/about_us/abt_nanp.html
func northAmerican(d []byte, g []uint8) bool {
	fictional := string(d[:3]) == "555" || string(d[:6]) == "123456"
	return g[0] == 3 && g[1] == 3 && g[2] == 4 && (d[0] >= '2' || fictional) && d[1] != '9' && (d[3] >= '2' || fictional) &&
		(d[1] != '1' || d[2] != '1') && (d[4] != '1' || d[5] != '1')
}
