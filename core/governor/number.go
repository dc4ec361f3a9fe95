package governor

import "github.com/postern-ai/postern/core/governor/checksum"

// number is a row of digits that a detector may accept: groups with one separator between neighbors.
type number struct {
	digits [32]byte
	total  [12]int // number of digits up to the end of each group
	ends   [12]int // in the text
	seps   [12]byte
	count  int
}

// read reads groups of digits. One space, dash, dot or slash separates neighboring groups.
func (n *number) read(v *view, i int) {
	n.count = 0
	have := 0
	for n.count < len(n.ends) {
		from := i
		for isDigitByte(v.at(i)) {
			if have == len(n.digits) {
				return
			}
			n.digits[have] = v.at(i)
			have++
			i++
		}
		if i == from {
			return
		}
		n.total[n.count], n.ends[n.count], n.seps[n.count] = have, i, 0
		b := v.at(i)
		n.count++
		if oneOf(b, " -./") && isDigitByte(v.at(i+1)) {
			n.seps[n.count-1] = b
			i++
		}
	}
}

func (n *number) group(i int) int {
	if i == 0 {
		return n.total[0]
	}
	return n.total[i] - n.total[i-1]
}

// ended reports whether the first k+1 groups may be a number of their own.
func (n *number) ended(v *view, k int) bool {
	end := n.ends[k]
	if !v.closed(end) {
		return false
	}
	switch v.at(end) {
	case '-', '/':
		return !isAlnum(v.at(end + 1))
	case '.', ':':
		return !isDigitByte(v.at(end + 1))
	case ',': // if more than three digits come before a comma, it separates the fields of a line, not thousands
		return n.group(k) > 3 || !isDigitByte(v.at(end+1))
	case ' ':
		return k+1 >= n.count || k > 0 && n.seps[k-1] != ' ' || n.group(k) < 4 || n.group(k) > 6 || n.group(k+1) != n.group(k)
	}
	return true
}

// is reports whether the first k+1 groups have a shape, such as "3-2-4". A shape gives the lengths of the groups and
// the separators between them.
func (n *number) is(k int, shape string) bool {
	at := 0
	for i := 0; i <= k; i++ {
		length := 0
		for ; at < len(shape) && isDigitByte(shape[at]); at++ {
			length = length*10 + int(shape[at]-'0')
		}
		if length != n.group(i) {
			return false
		}
		if i == k {
			return at == len(shape)
		}
		if at == len(shape) || shape[at] != n.seps[i] {
			return false
		}
		at++
	}
	return false
}

// isAny does the same as is for a list of shapes. Bars separate the shapes.
func (n *number) isAny(k int, shapes string) bool {
	for len(shapes) > 0 {
		end := 0
		for end < len(shapes) && shapes[end] != '|' {
			end++
		}
		if n.is(k, shapes[:end]) {
			return true
		}
		shapes = shapes[min(end+1, len(shapes)):]
	}
	return false
}

// numeric tries payment cards, national identifiers and bank accounts at a digit. It begins with the longest sequence
// of groups.
func (s *Scanner) numeric(v *view, start int) (next int, ok bool) {
	n := &s.scratch.number
	n.read(v, start)
	s.scratch.wrong = 0
	if n.count == 0 || n.total[n.count-1] < 6 {
		return 0, false
	}
	before, second := v.at(start-1), v.at(start-2)
	if before == ',' && isDigitByte(second) && !n.isField(v, start) || before == '$' || before == '.' && second != '.' {
		return 0, false // part of a decimal number, such as .5557590239287523
	}
	for k := n.count - 1; k >= 0 && n.total[k] >= 6; k-- {
		if !n.ended(v, k) {
			continue
		}
		if next, ok = s.sequence(v, start, n, k); ok {
			return next, true
		}
	}
	return 0, false
}

// sequence tries the detectors on the first k+1 groups.
func (s *Scanner) sequence(v *view, start int, n *number, k int) (next int, ok bool) {
	if n.total[k] == 13 { // with 13 digits, there are more identifiers than cards
		if next, ok = s.identity(v, start, n, k); ok {
			return next, true
		}
	}
	if s.card(v, start, n, k) {
		if next, ok = s.emit(v, ruleCard, start, n.ends[k]); ok {
			return next, true
		}
	}
	if next, ok = s.identity(v, start, n, k); ok {
		return next, true
	}
	return s.bankAccount(v, start, n, k)
}

// isField reports whether the number after a digit and a comma is a field of a line. If not, it is decimals. It is a
// field if more than three digits come before the comma, or if the number is long and another field follows.
func (n *number) isField(v *view, start int) bool {
	if isDigitByte(v.at(start-3)) && isDigitByte(v.at(start-4)) && isDigitByte(v.at(start-5)) {
		return true
	}
	return n.group(0) >= 12 && v.at(n.ends[0]) == ',' && v.at(n.ends[0]+1) != ' '
}

// inRow reports whether the first k+1 groups are part of a row of numbers: spaces separate them, and another number
// comes before or after them. Numbers in a row may look like identifiers.
func (n *number) inRow(v *view, start, k int) bool {
	return n.seps[0] == ' ' && (v.at(start-1) == ' ' && isDigitByte(v.at(start-2)) || v.at(n.ends[k]) == ' ' && isDigitByte(v.at(n.ends[k]+1)))
}

// inTable reports whether a number at i may be part of a row of numbers. In a row, a space comes before i. Before the
// space, there is a group of at least four hexadecimal digits, and not all of them are letters. Numbers in a row may
// look like the numbers of cards.
func inTable(v *view, i int) bool {
	if v.at(i-1) != ' ' {
		return false
	}
	digits := 0
	for n := 2; n < 7; n++ {
		b := v.at(i - n)
		if class[b]&isHex == 0 {
			return n >= 6 && digits > 0
		}
		if isDigitByte(b) {
			digits++
		}
	}
	return digits > 0
}

const (
	cardShapes  = "4 4 4 4|4-4-4-4|4.4.4.4|4 6 5|4-6-5|4 6 4|4-6-4|4 4 4 4 3|4-4-4-4-3|6 13|6-13|4-4-4-2|4-4-4-1|4-4-4-3|6-6-6-1|4 4 4 3|6 4 5|8 8|8-8|4 4 4 2"
	cardCompact = "13|14|15|16"
	cardRare    = "12|15|17|18|19"
)

// card reports whether the first k+1 groups are the number of a payment card. Sources: ISO/IEC 7812-1 (Luhn); the
// issuers' published ranges, see cardRanges.
func (s *Scanner) card(v *view, start int, n *number, k int) bool {
	d := n.digits[:n.total[k]]
	if len(d) < 12 || len(d) > 19 || !checksum.Luhn(d) || runsOfOne(d) {
		return false
	}
	switch {
	case !issued(d): // generators of test data also use numbers outside the ranges
		return k == 0 && len(d) <= 16 && s.about(v, aboutCard, start, n.ends[k])
	case n.isAny(k, cardShapes):
		if behindGroup(v, start) && isDigitByte(v.at(start-2)) {
			return false // RS35 2600 0560 1001 6113 70
		}
		return n.seps[0] != ' ' || !inTable(v, start) || s.about(v, aboutCard, start, n.ends[k])
	case n.isAny(k, cardCompact) && (d[0] != '1' || string(d[:4]) == "1800"):
		return !s.isArticle(v, start) || s.about(v, aboutCard, start, n.ends[k])
	case n.isAny(k, cardRare):
		if len(d) == 19 && d[0] == '6' && (d[1] == '2' || d[1] == '7') && !s.isArticle(v, start) {
			return true // about one random number in five hundred reaches this line
		}
		return s.about(v, aboutCard, start, n.ends[k])
	}
	return false
}

// cardRanges lists ranges of the first four digits, with a bit for each length from 12 to 19. Sources:
// https://www.mastercard.us (BIN 2221-2720, 51-55; Maestro), https://www.discovernetwork.com (IIN ranges of Discover,
// Diners, JCB and UnionPay), https://www.americanexpress.com (34, 37), https://usa.visa.com (4), https://mironline.ru
// (2200-2204), https://www.npci.org.in (RuPay 60, 81, 82, 508, 353, 356), ISO/IEC 7812 register.
var cardRanges = [...]struct {
	first, last uint16
	lengths     uint8
}{
	{1000, 1999, 1 << 3}, // JCB; also UATP, which needs a word about cards
	{2131, 2131, 1 << 3},
	{4000, 4999, 1<<1 | 1<<4 | 1<<7},
	{5100, 5599, 1 << 4}, {2221, 2720, 1 << 4},
	{3400, 3499, 1 << 3}, {3700, 3799, 1 << 3},
	{6011, 6011, 1<<4 | 1<<7}, {6440, 6599, 1<<4 | 1<<7},
	{3000, 3059, 1<<2 | 1<<4}, {3095, 3095, 1<<2 | 1<<4}, {3600, 3699, 1<<2 | 1<<4 | 1<<7}, {3800, 3999, 1<<2 | 1<<4},
	{3500, 3599, 1 << 4}, {3528, 3589, 0xe0}, {6200, 6299, 0xf0}, {8100, 8299, 0xf0},
	{2200, 2204, 0xf0}, {9792, 9792, 1 << 4},
	{5000, 5099, 0xff}, {5600, 5899, 0xff}, {6000, 6009, 1 << 4}, {6030, 6099, 1 << 4},
	{6300, 6399, 0xff}, {6700, 6799, 0xff},
}

// issued reports whether an issuer's range contains the first four digits and allows a number of that length.
func issued(d []byte) bool {
	first := uint16(checksum.Mod(d[:4], 10000))
	for i := range cardRanges {
		if r := &cardRanges[i]; first >= r.first && first <= r.last && r.lengths>>(len(d)-12)&1 == 1 {
			return true
		}
	}
	return false
}

// bankAccount looks for the number of a bank account, with 7 to 28 digits, after a word for it. It also looks for the
// code of a bank: nine digits with the checksum of the American Bankers Association, or a British sort code. Source:
// https://www.aba.com/about-us/routing-number
func (s *Scanner) bankAccount(v *view, start int, n *number, k int) (next int, ok bool) {
	d := n.digits[:n.total[k]]
	aba := len(d) == 9 && isRouting(d)
	if aba && n.is(k, "4-4-1") && !s.isArticle(v, start) {
		return s.emit(v, ruleBankAccount, start, n.ends[k])
	}
	if s.since(aboutRouting, start) <= 24 {
		if aba && k == 0 || n.isAny(k, "2-2-2|2 2 2|6|3-3|8") {
			return s.emit(v, ruleBankAccount, start, n.ends[k])
		}
	}
	if s.since(aboutBank, start) > 24 || v.at(start-1) == '/' || len(d) < 7 || len(d) > 28 || k > 6 || runsOfOne(d) {
		return 0, false
	}
	return s.emit(v, ruleBankAccount, start, n.ends[k])
}

// isRouting checks the weighted sum of nine digits and the Federal Reserve district in the first two. A district is a
// number from 01 to 12. Thrifts add 20 to it, and electronic transfers add 60. The number is 00 for the government
// and 80 for traveler's checks.
func isRouting(d []byte) bool {
	district := two(d)
	return (district <= 12 || district >= 21 && district <= 32 || district >= 61 && district <= 72 || district == 80) &&
		checksum.Weighted(d, "3 7 1 3 7 1 3 7 1")%10 == 0
}

// ibanLengths lists the length of an IBAN in each country. Source: SWIFT, IBAN Registry, release 99.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IR26IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30" +
	"AO25BF28BJ28CF27CG27CI28CM27CV25DZ26GA27GQ27GW25KM27MA28MG27ML28MZ25NE28SN28TD27TG28" + // in use, but not in the registry
	"AX18BL27GF27GG22GP27IM22JE22MF27MQ27NC27PF27PM27RE27TF27WF27YT27" // the same as in the countries that these territories belong to

// ibanLength returns the length of a country's IBAN. If the length is unknown, it returns 0.
func ibanLength(a, b byte) int {
	for i := 0; i < len(ibanLengths); i += 4 {
		if ibanLengths[i] == a && ibanLengths[i+1] == b {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

// iban looks for an International Bank Account Number, in one piece or in groups. After a word about banks, it
// accepts any country and length, because more countries may join and people make up examples. Source: ISO 13616-1.
func (s *Scanner) iban(v *view, start int) (next int, ok bool) {
	a, b := v.at(start), v.at(start+1)
	if !isLetterByte(a) || !isLetterByte(b) {
		return 0, false
	}
	end := -1
	if length := ibanLength(a&^0x20, b&^0x20); length > 0 {
		end = ibanEnd(v, start, length)
	}
	if end < 0 && s.since(aboutBank, start) <= 24 {
		end = ibanEnd(v, start, 0)
	}
	if end < 0 || v.at(end) == ' ' && v.at(end-5) == ' ' && isDigitByte(v.at(end+1)) && !isAlnum(v.at(end+2)) {
		return 0, false // with one digit too many
	}
	return s.emit(v, ruleIBAN, start, end)
}

// ibanEnd returns the end of an account number with correct check digits, or -1 if there is none. The number must
// have the given length. If length is 0, it may have any length from 14 on.
func ibanEnd(v *view, i, length int) int {
	var text [34]byte
	kinds, n := uint16(0), 0
	for ; n < len(text) && (length == 0 || n < length); n++ {
		at := i
		if sep := v.at(i); n > 1 && oneOf(sep, " -.") && (n%4 == 0 || isDigitByte(v.at(i+1)) || isDigitByte(v.at(i-1))) {
			at++
		}
		if !isAlnum(v.at(at)) || (n == 2 || n == 3) && !isDigitByte(v.at(at)) {
			break
		}
		text[n] = v.at(at)
		kinds |= class[text[n]]
		i = at + 1
	}
	if n < max(length, 14) || kinds&isLower != 0 && kinds&isUpper != 0 || !v.closed(i) || !checksum.Mod97(text[:n]) {
		return -1
	}
	return i
}
