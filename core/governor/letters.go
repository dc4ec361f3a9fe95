package governor

import "github.com/postern-ai/postern/core/governor/checksum"

// letteredFormat is a layout of a national identifier with letters. In a layout, L stands for a letter, U for a
// capital, D for a digit, ? for a letter or digit, and S for the century sign of a Finnish code. Other characters
// stand for themselves.
type letteredFormat struct {
	rule    string
	layout  string
	subject context // a word about this subject must be nearby; if 0, no word is needed
	check   func(t []byte) bool
}

// letteredFormats is tried in order. check receives the letters and digits in upper case.
var letteredFormats = [...]letteredFormat{
	{"personal.uk-nino", "LLDDDDDDL", aboutBritain | aboutTax, ukNINO},
	{"personal.uk-nino", "UUDDDDDDU", 0, ukNINO},
	{"personal.uk-nino", "UUDDDDDD", aboutBritain, ukNINO}, // without the last letter
	{"personal.uk-nino", "LL DD DD DD L", 0, ukNINO},
	{"personal.uk-nino", "LL DDDDDDL", aboutBritain | aboutTax, ukNINO},
	{"personal.uk-nino", "UU DDDDDD U", 0, ukNINO},
	{"personal.uk-nino", "UU DDD DDD U", 0, ukNINO},
	{"personal.uk-nino", "LL DDDDDD L", aboutBritain | aboutTax, ukNINO},
	{"personal.uk-nino", "LL-DD-DD-DD-L", 0, ukNINO},
	{"personal.uk-nino", "LL-DDDDDD-L", aboutBritain | aboutTax, ukNINO},
	{"personal.es-nie", "LDDDDDDDL", 0, esNIE},
	{"personal.es-nie", "L-DDDDDDD-L", 0, esNIE},
	{"personal.es-nie", "L-DDDDDDDL", 0, esNIE},
	{"personal.es-nie", "LDDDDDDD-L", 0, esNIE},
	{"personal.es-dni", "DDDDDDDD L", aboutSpain, esDNI},
	{"personal.es-dni", "DD.DDD.DDDL", aboutSpain, esDNI},
	{"personal.it-codice-fiscale", "LLLLLL??L??L???L", 0, itCodiceFiscale},
	{"personal.it-codice-fiscale", "LLLLLL??L?? L???L", 0, itCodiceFiscale},
	{"personal.it-codice-fiscale", "LLLLLL??L??-L???L", 0, itCodiceFiscale},
	{"personal.sg-nric", "LDDDDDDDL", 0, sgNRIC},
	{"personal.sg-nric", "LDDDDDDD-L", aboutSingapore, sgNRIC},
	{"personal.hk-id", "LDDDDDD(?)", 0, hkID},
	{"personal.hk-id", "LDDDDDD?", aboutHongKong, hkID},
	{"personal.hk-id", "LDDDDDD[?]", 0, hkID},
	{"personal.hk-id", "LDDDDDD (?)", aboutHongKong, hkID},
	{"personal.hk-id", "LLDDDDDD(?)", 0, hkID},
	{"personal.hk-id", "LLDDDDDD?", aboutHongKong, hkID},
	{"personal.hk-id", "LLDDDDDD[?]", 0, hkID},
	{"personal.tw-id", "LDDDDDDDDD", aboutTaiwan | aboutID, twID},
	{"personal.in-pan", "LLLLLDDDDL", 0, inPersonalPAN},
	{"personal.in-pan", "LLLLLDDDDL", aboutPAN | aboutTax, inPAN},
	{"personal.mx-curp", "LLLLDDDDDDLLLLLL?D", 0, mxCURP},
	{"personal.fi-hetu", "DDDDDDSDDD?", 0, fiHETU},
	{"personal.cn-resident-id", "DDDDDDDDDDDDDDDDDL", 0, cnResident},
	{"personal.fr-nir", "DDDDDDLDDDDDDDD", 0, frCorsica},
	{"personal.ie-pps", "DDDDDDDL", aboutIreland | aboutID, iePPS},
	{"personal.ie-pps", "DDDDDDDLL", 0, iePPS},
	{"personal.ie-pps", "DDDDDDD L", aboutIreland, iePPS},
	{"personal.cl-rut", "DD.DDD.DDD-L", 0, clRUTK},
	{"personal.cl-rut", "D.DDD.DDD-L", 0, clRUTK},
	{"personal.cl-rut", "DDDDDDDD-L", 0, clRUTK},
	{"personal.cl-rut", "DDDDDDD-L", aboutChile | aboutID | aboutTax, clRUTK},
	{"personal.cl-rut", "DDDDDDDL", aboutChile, clRUTK},
	{"personal.cl-rut", "DDDDDDDDL", aboutChile, clRUTK},
	{"personal.es-dni", "DDDDDDDDL", 0, esDNI},
	{"personal.es-dni", "DDDDDDDD-L", 0, esDNI},
	{"personal.us-mbi", "DL?D-L?D-LLDD", 0, usMBI},
	{"personal.us-mbi", "DL?DL?DLLDD", 0, usMBI},
	{"personal.es-dni", "DD.DDD.DDD-L", 0, esDNI},
	{"personal.es-dni", "DDDDDDDL", aboutSpain, esDNI},
	{"personal.de-pension-number", "DDDDDDDDLDDD", 0, dePension},
	{"personal.de-pension-number", "DD DDDDDD LDDD", 0, dePension},
	{"personal.de-pension-number", "DD DDDDDD L DDD", 0, dePension},
	{"personal.se-personnummer", "DDDDDD+DDDD", 0, sePersonnummer},
	{"personal.br-cnpj", "DD.???.???/????-DD", 0, brCNPJ},
	{"personal.br-cnpj", "DD??????????DD", 0, brCNPJ},
	{"personal.identity-document", "L????DDDDDDLLDLL", 0, gbDriver},
	{"personal.identity-document", "L????DDDDDDL9DLL", 0, gbDriver},
	{"personal.identity-document", "LLLLDDDDDD???", 0, mxRFC},
	{"personal.identity-document", "LLLLDDDDDD???", aboutArticle | aboutTax, mxDate},
	{"personal.identity-document", "DDDDDDDDDL", 0, lkNIC},
	{"personal.identity-document", "LLLDDDDDDD", aboutIndia, anyDigits},
	{"personal.identity-document", "DDDDDDDD D LLD", 0, ptCitizen},
	{"personal.identity-document", "DDDDDDDD D LL D", 0, ptCitizen},
	{"personal.identity-document", "DDDDDDDDDLLD", 0, ptCitizen},
	{"personal.identity-document", "DDDDDDDLDDDLLD", 0, byPersonal},
	{"personal.identity-document", "LHA-DDDDDDDDD-D", 0, anyDigits},
}

// lettered tries the identifiers with letters at the start of the word [start, end).
func (s *Scanner) lettered(v *view, start, end int) (next int, ok bool) {
	if end-start > 24 {
		return 0, false
	}
	text := &s.scratch.text
	kind, by := uint16(isDigit), 0
	if isLetterByte(v.text[start]) {
		kind, by = isLower|isUpper, len(letteredBy)/2
	}
	leading := v.run(start, end-start, kind) - start
	if leading >= len(letteredBy)/2 {
		return 0, false
	}
	list := letteredBy[by+leading]
	for at := range len(list) {
		i := int(list[at])
		f := &letteredFormats[i]
		to, n := f.read(v, start, text)
		if to < 0 || !v.closed(to) || v.at(to) == '-' && isAlnum(v.at(to+1)) || !f.check(text[:n]) {
			continue
		}
		if f.subject != 0 && !s.about(v, f.subject, start, to) || f.subject == 0 && s.isArticle(v, start) {
			continue
		}
		if next, ok = s.emit(v, letteredRule[i], start, to); ok {
			return next, true
		}
	}
	return 0, false
}

// read compares the text at i with the layout. It collects the letters and digits of the text, in upper case. If the
// text does not have the layout, to is -1.
func (f *letteredFormat) read(v *view, i int, text *[24]byte) (to, n int) {
	for j := range len(f.layout) {
		b := v.at(i + j)
		upper := b &^ 0x20
		switch f.layout[j] {
		case 'L', 'U':
			if !isLetterByte(b) || f.layout[j] == 'U' && b != upper {
				return -1, 0
			}
			b = upper
		case 'D':
			if !isDigitByte(b) {
				return -1, 0
			}
		case '?':
			if !isAlnum(b) {
				return -1, 0
			}
			if isLetterByte(b) {
				b = upper
			}
		case 'S':
			if b != '-' && b != '+' && (upper < 'A' || upper > 'F') && (upper < 'U' || upper > 'Y') {
				return -1, 0
			}
			continue
		default:
			if b != f.layout[j] {
				return -1, 0
			}
			continue
		}
		text[n] = b
		n++
	}
	return i + len(f.layout), n
}

// oneOf is not inlined, because it is called in many places and the copies would take a lot of space.
//
//go:noinline
func oneOf(b byte, set string) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// usMBI does not accept letters that look like a digit or another letter. Source:
// https://www.cms.gov/medicare/new-medicare-card/understanding-the-mbi-with-format.pdf
func usMBI(t []byte) bool {
	for _, b := range t {
		if oneOf(b, "SLOIBZ") {
			return false
		}
	}
	return t[0] != '0'
}

func ukNINO(t []byte) bool {
	switch string(t[:2]) {
	case "BG", "GB", "NK", "KN", "TN", "NT", "ZZ":
		return false
	}
	return !oneOf(t[0], "DFIQUV") && !oneOf(t[1], "DFIOQUV") && (len(t) == 8 || t[8] <= 'D')
}

const spanishLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

// esDNI checks a number and its letter. The number has eight digits, or seven without the leading zero.
func esDNI(t []byte) bool {
	n := len(t) - 1
	return spanishLetters[checksum.Mod(t[:n], 23)] == t[n]
}

// dePension checks a German pension insurance number: area, date of birth, letter of the name, serial number, check
// digit. Each digit is multiplied by a weight. The check digit is computed from the digits of the products. Source:
// VKVV, section 2 and annex.
func dePension(t []byte) bool {
	if !isMonthDay(two(t[4:]), two(t[2:])%50) || !isLetterByte(t[8]) { // +50 on the day if its numbers ran out
		return false
	}
	letter := t[8] - 'A' + 1
	all := [12]byte{8: '0' + letter/10, 9: '0' + letter%10, 10: t[9], 11: t[10]}
	copy(all[:], t[:8])
	sum := 0
	for i, w := range [12]int{2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1} {
		product := checksum.Digit(all[i]) * w
		sum += product/10 + product%10
	}
	return sum%10 == checksum.Digit(t[11])
}

func esNIE(t []byte) bool {
	kind := 0
	switch {
	case t[0] >= 'X':
		kind = int(t[0] - 'X')
	case t[0] < 'K' || t[0] > 'M': // K: children, L: Spaniards abroad, M: foreigners without a number
		return false
	}
	return spanishLetters[((kind*10000000)+checksum.Mod(t[1:8], 10000000))%23] == t[8]
}

// codiceOdd lists the values of digits and letters at odd positions. Source: DM 23 December 1976, annex.
var codiceOdd = [26]byte{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}

func itCodiceFiscale(t []byte) bool {
	if !oneOf(t[8], "ABCDEHLMPRST") {
		return false
	}
	sum := 0
	for i, b := range t[:15] {
		value := int(b - '0')
		if i > 5 && i != 8 && i != 11 && isLetterByte(b) && !oneOf(b, "LMNPQRSTUV") {
			return false // digits may be replaced only by these letters
		}
		if isLetterByte(b) {
			value = int(b - 'A')
		}
		if i%2 == 0 {
			value = int(codiceOdd[value])
		}
		sum += value
	}
	return byte('A'+sum%26) == t[15]
}

func sgNRIC(t []byte) bool {
	sum := checksum.Weighted(t[1:], "2 7 6 5 4 3 2")
	switch t[0] {
	case 'S':
		return "JZIHGFEDCBA"[sum%11] == t[8]
	case 'T':
		return "JZIHGFEDCBA"[(sum+4)%11] == t[8]
	case 'F':
		return "XWUTRQPNMLK"[sum%11] == t[8]
	case 'G':
		return "XWUTRQPNMLK"[(sum+4)%11] == t[8]
	case 'M':
		return "XWUTRQPNJLK"[(sum+3)%11] == t[8]
	}
	return false
}

func hkID(t []byte) bool {
	sum := 36 * 9
	if len(t) == 9 {
		sum = int(t[0]-'A'+10) * 9
		t = t[1:]
	}
	sum += int(t[0]-'A'+10)*8 + checksum.Weighted(t[1:], "7 6 5 4 3 2")
	check := (11 - sum%11) % 11
	return check == 10 && t[7] == 'A' || check < 10 && byte('0'+check) == t[7]
}

// twLetters lists the two-digit codes of the letters A to Z, in that order. Source: Department of Household
// Registration, Taiwan.
var twLetters = [26]byte{10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21, 22, 35, 23, 24, 25, 26, 27, 28, 29, 32, 30, 31, 33}

func twID(t []byte) bool {
	letter := int(twLetters[t[0]-'A'])
	sum := letter/10 + letter%10*9 + checksum.Weighted(t[1:], "8 7 6 5 4 3 2 1 1")
	return oneOf(t[1], "1289") && sum%10 == 0
}

func inPAN(t []byte) bool { return oneOf(t[3], "ABCFGHLJPT") && !runs(t) }

func inPersonalPAN(t []byte) bool { return t[3] == 'P' && !runs(t) }

func mxCURP(t []byte) bool {
	return isDate(t[4:]) && oneOf(t[10], "HMX") && (10-mxSum(t[:17])%10)%10 == checksum.Digit(t[17])
}

// mxSum multiplies the value of each letter or digit by its position, and returns the sum. Positions count from the
// end, starting at two.
func mxSum(t []byte) (sum int) {
	for i, b := range t {
		value := int(b - '0')
		if isLetterByte(b) {
			if value = int(b-'A') + 10; b > 'N' {
				value++ // Ñ or & comes between N and O
			}
		}
		sum += value * (len(t) + 1 - i)
	}
	return sum
}

func fiHETU(t []byte) bool {
	number := checksum.Mod(t[:9], 1000000000)
	return isDayFirst(t) && "0123456789ABCDEFHJKLMNPRSTUVWXY"[number%31] == t[9]
}

// frCorsica checks a French NIR from the department 2A or 2B. The check counts 2A as 19 and 2B as 18.
func frCorsica(t []byte) bool {
	var d [15]byte
	copy(d[:], t)
	d[5], d[6] = '1', '9'-(t[6]-'A')
	return t[5] == '2' && t[6] <= 'B' && frNIR(d[:])
}

// iePPS accepts a second letter after the digits only if that letter is in use: A and B since 2013, H for holders who
// are not individuals, T and W for spouses.
func iePPS(t []byte) bool {
	sum := checksum.Weighted(t[:7], "8 7 6 5 4 3 2")
	if len(t) == 9 {
		switch t[8] {
		case 'A', 'B', 'H':
			sum += int(t[8]-'A'+1) * 9
		case 'T', 'W':
		default:
			return false
		}
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == t[7]
}

func clRUTK(t []byte) bool {
	last := len(t) - 1
	return t[last] == 'K' && clDigit(t[:last]) == 'K'
}

// gbDriver checks a British driving license number: five letters of the name, decade of birth, month (plus 50 for
// women), day, year, and two initials. Nines fill up a short name and replace missing initials. Source:
// https://www.gov.uk/government/publications/inf45d
func gbDriver(t []byte) bool {
	nines := false
	for _, b := range t[:5] {
		if nines = nines || b == '9'; nines != (b == '9') || isDigitByte(b) && !nines {
			return false
		}
	}
	month := two(t[6:])
	return isMonthDay(month%50, two(t[8:])) && month < 63
}

// mxDate accepts old taxpayer numbers. Their check characters differ from the result of mxRFC, so they need a word
// nearby.
func mxDate(t []byte) bool { return isDate(t[4:]) }

// mxRFC checks the taxpayer number of a person in Mexico: letters of the name, date of birth, two characters that
// tell people with the same name and date apart, check character. Source: https://www.sat.gob.mx
func mxRFC(t []byte) bool {
	return isDate(t[4:]) && "0A987654321"[mxSum(t[:12])%11] == t[12]
}

// lkNIC checks the old identity card number of Sri Lanka: year and day of birth (plus 500 for women), serial number,
// check digit, V. It does not accept an X instead of the V, because such a number may be an ISBN. Source:
// https://drp.gov.lk
func lkNIC(t []byte) bool {
	day := checksum.Mod(t[2:5], 500)
	return t[9] == 'V' && t[2] < '9' && day > 0 && day <= 366
}

// brCNPJ checks a Brazilian company number with letters and digits. Such numbers are issued since 2026. Source:
// Instrução Normativa RFB 2.229/2024.
func brCNPJ(t []byte) bool {
	return satisfies("%z5 4 3 2 9 8 7 6 5 4 3 2;%z6 5 4 3 2 9 8 7 6 5 4 3 2", t)
}

// ptCitizen checks the number of a Portuguese citizen card. The number has a Luhn check digit over letters and
// digits. A counts as 10. Source: https://www.autenticacao.gov.pt
func ptCitizen(t []byte) bool {
	sum := 0
	for i, b := range t {
		value := int(b - '0')
		if isLetterByte(b) {
			value = int(b-'A') + 10
		}
		if i%2 == 0 {
			if value *= 2; value > 9 {
				value -= 9
			}
		}
		sum += value
	}
	return sum%10 == 0
}

// byPersonal checks the personal number of Belarus: sex and century, date of birth, region, serial number,
// citizenship. Source: https://en.wikipedia.org/wiki/National_identification_number#Belarus
func byPersonal(t []byte) bool { return t[0] >= '1' && t[0] <= '6' && isDayFirst(t[1:]) }
