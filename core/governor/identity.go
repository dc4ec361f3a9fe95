package governor

// identityFormat is a national identifier made of digits.
type identityFormat struct {
	rule    string
	strong  string              // shapes that are findings even without a word nearby
	weak    string              // shapes that need a word about the subject nearby
	subject context             // 0: the rule needs none
	digits  string              // see satisfies
	check   func(d []byte) bool // nil if digits is enough
}

// identities lists the national identifiers. testdata/governor/identities.txt has sources and examples. A shape is
// strong if little else has that shape, or if the check and the structure together accept fewer than about one random
// number in a hundred. Groups of three or four digits also occur in rows of numbers, so shapes with such groups need
// a word about the identifier nearby.
var identities = [...]identityFormat{
	{"personal.us-ssn", "3-2-4|3 2 4|3.2.4", "9|3-6|5-4|3 6|5 4|3/2/4|2-7", aboutSSN | aboutTax, "", usSSN},
	{"personal.us-itin", "3-2-4|3 2 4|3.2.4", "9|3-6|5-4|3 6|5 4|3/2/4", aboutSSN | aboutTax, "", usITIN},
	{"personal.us-itin", "", "9|3-2-4|3 2 4", aboutSSN | aboutTax, "a99d99e33", nil}, // of a child in adoption
	{"personal.us-npi", "", "10|4-3-3|4 3 3|3-3-4|3 3 4", aboutHealth, "", usNPI},
	{"personal.uk-nhs-number", "", "10|3 3 4|3-3-4|3.3.4", aboutHealth, "%010 9 8 7 6 5 4 3 2 1", nil},
	{"personal.de-tax-id", "3/3/4/1", "11|2 3 3 3|2-3-3-3|3 3 3 2", aboutGermany | aboutTax | aboutID, "a19N", nil},
	{"personal.fr-nir", "15|1 2 2 2 3 3 2|1 2 2 5 3 2|1-2-2-5-3-2|13 2|1-2-2-2-3-3-2|13-2|1 2 2 2 3 3/2", "13|1 2 2 2 3 3", aboutFrance, "", frNIR},
	{"personal.nl-bsn", "", "9|3 3 3|4.2.3|4 2 3|3.3.3|3-3-3|4-2-3", aboutNetherlands | aboutID, "%09 8 7 6 5 4 3 2 10", nil},
	{"personal.nl-bsn", "", "8|4.2.2", aboutNetherlands, "%08 7 6 5 4 3 2 10", nil},
	{"personal.be-national-number", "2.2.2-3.2|11|2.2.2 3.2|2.2.2-3 2|2.2.2-3-2|2.2.2.3.2|2 2 2 3 2|6-3.2|2/4-5", "6-3-2|6 3 2|6-5|6 5", aboutBelgium | aboutID, "", beNational},
	{"personal.pl-pesel", "", "11|6 5", aboutPoland | aboutID, "M%t1 3 7 9 1 3 7 9 1 3 1", nil},
	{"personal.se-personnummer", "6-4|8-4|12", "10|6 4|8 4", aboutSweden | aboutID, "", sePersonnummer},
	{"personal.no-birth-number", "11|6 5|6-5", "", 0, "", noBirthNumber},
	{"personal.is-kennitala", "6-4", "10", aboutID, "", isKennitala},
	{"personal.dk-cpr", "6-4", "", aboutDenmark | aboutID, "D%04 3 2 7 6 5 4 3 2 1", nil},
	{"personal.dk-cpr", "", "6-4|10|6 4", aboutDenmark | aboutID, "D", nil},
	{"personal.pt-nif", "", "9|3 3 3|3.3.3|3-3-3", aboutPortugal | aboutTax, "a19%z9 8 7 6 5 4 3 2", nil},
	{"personal.br-cpf", "3.3.3-2|3.3.3.2", "11|9-2|3 3 3 2|3-3-3-2", aboutBrazil | aboutID | aboutTax, "%z10 9 8 7 6 5 4 3 2;%z11 10 9 8 7 6 5 4 3 2", nil},
	{"personal.br-cnpj", "2.3.3/4-2|2.3.3.4-2", "14|2 3 3 4 2|8/4-2", aboutBrazil | aboutTax, "%z5 4 3 2 9 8 7 6 5 4 3 2;%z6 5 4 3 2 9 8 7 6 5 4 3 2", nil},
	{"personal.in-aadhaar", "", "12|4 4 4|4-4-4|4.4.4", aboutIndia | aboutID, "a29V", nil},
	{"personal.ca-sin", "", "9|3-3-3|3 3 3|3.3.3", aboutCanada | aboutTax, "L", nil},
	{"personal.au-tfn", "", "9|3 3 3|3-3-3", aboutAustralia | aboutTax, "%01 4 3 7 5 8 6 9 10", nil},
	{"personal.au-tfn", "", "8|2 3 3|3 3 2", aboutAustralia | aboutTax, "%010 7 8 4 6 3 5 1", nil},
	{"personal.au-abn", "2 3 3 3", "11|2-3-3-3|2.3.3.3", aboutAustralia, "", auABN},
	{"personal.au-medicare", "4 5 1/1|4 5 1-1", "10|4 5 1|11|4 5 1 1|4-5-1|4-5-1-1|10-1|10/1|10 1", aboutAustralia, "a26%t1 3 7 9 1 3 7 9 9", nil},
	{"personal.au-acn", "", "9|3 3 3|3-3-3|3.3.3", aboutAustralia, "%t8 7 6 5 4 3 2 1 1", nil},
	{"personal.cn-resident-id", "18|6 8 4|6-8-4|6 4 4 4|6-4-4-4", "", 0, "", cnResident},
	{"personal.za-id", "13|6 4 3|6 4 2 1|6-4-3", "", aboutSouthAfrica | aboutID, "Yk02L", nil},
	{"personal.tr-identity-number", "", "11", aboutTurkey | aboutID, "", trIdentity},
	{"personal.ch-ahv", "3.4.4.2|13|3 4 4 2|3-4-4-2", "", 0, "a77b55c66%t1 3 1 3 1 3 1 3 1 3 1 3 1", nil},
	{"personal.at-svnr", "4 6|4-6", "10|4/6|4 2 2 2", aboutAustria | aboutID, "", atSVNR},
	{"personal.ro-cnp", "13", "", aboutRomania | aboutID, "a19y%r2 7 9 1 4 6 3 5 8 2 7 9", nil},
	{"personal.kr-rrn", "6-7|13", "6 7", aboutKorea | aboutID, "", krRRN},
	{"personal.kr-rrn", "", "6-7|13", aboutKorea, "Y", nil},
	{"personal.ar-cuit", "2-8-1", "11|2 8 1|2.8.1|2/8/1", aboutArgentina | aboutTax, "", arCUIT},
	{"personal.cz-birth-number", "6/4", "10|6/3|9|6 4|6-4", aboutCzechia | aboutID, "", czBirthNumber},
	{"personal.bg-egn", "", "10", aboutBulgaria | aboutID, "M%m2 4 8 5 10 9 7 3 6", nil},
	{"personal.ee-isikukood", "11", "", aboutEstonia | aboutID, "", eePersonalCode},
	{"personal.hr-oib", "", "11", aboutCroatia | aboutID | aboutTax, "N", nil},
	{"personal.il-identity-number", "", "9|8-1|1-7-1", aboutIsrael | aboutID, "L", nil},
	{"personal.il-identity-number", "", "8|7-1", aboutIsrael, "L", nil},
	{"personal.jp-my-number", "", "12|4 4 4|4-4-4", aboutJapan | aboutID, "%z6 5 4 3 2 7 6 5 4 3 2", nil},
	{"personal.th-id", "1-4-5-2-1|1 4 5 2 1", "13", aboutThailand | aboutID, "a18%o13 12 11 10 9 8 7 6 5 4 3 2", nil},
	{"personal.cl-rut", "2.3.3-1", "1.3.3-1|8-1|7-1|9|8", aboutChile | aboutID, "", clRUT},
	{"personal.cl-rut", "8-1", "", aboutChile | aboutID, "", clPerson},
	{"personal.my-id", "6-2-4", "12", aboutID, "", myID},
	{"personal.ae-id", "3-4-7-1|15|3 4 7 1", "", 0, "a77b88c44d12L", nil},
	{"personal.yu-jmbg", "13", "", aboutID, "", yuJMBG},
	{"personal.pk-cnic", "5-7-1", "13", aboutID, "a17m19", nil},
	{"personal.ru-snils", "3-3-3 2|3-3-3-2", "11|3 3 3 2", aboutID, "", ruSNILS},
	// Identifiers with letters (see letters.go), and more identity documents.
	{"personal.passport", "", "", 0, "", nil},
	{"personal.identity-document", "", "8|7|2.3.3|1.3.3", aboutArgentina | aboutSpain | aboutDocument, "", nil},
	{"personal.identity-document", "", "3/4/4|2/3/5|3/3/5|5/5", aboutGermany | aboutTax, "", nil},
	{"personal.identity-document", "6-5", "", 0, "", lvCode},
	{"personal.identity-document", "11", "", 0, "DL", nil},   // Greece
	{"personal.identity-document", "3-7-1", "", 0, "L", nil}, // Dominican Republic
	{"personal.identity-document", "12", "", 0, "a23y", kwCivil},
	{"personal.identity-document", "13|2 2 3 3 3", "", 0, "a03", frTax},
	{"personal.identity-document", "13", "", 0, "", luNational},
	{"personal.identity-document", "14", "", 0, "a23y", egNational},
	{"personal.identity-document", "3.5.2-1", "", 0, "%z3 2 9 8 7 6 5 4 3 2", nil},
	{"personal.identity-document", "2/8/2|2 8 2|2-8-2", "", 0, "", esSocial},
	{"personal.identity-document", "2.3.3.1-3.3", "", 0, "", nil},
	{"personal.de-pension-number", "", "", 0, "", nil},
	{"personal.us-mbi", "", "", 0, "", nil},
	{"personal.uk-nino", "", "", 0, "", nil},
	{"personal.es-dni", "", "", 0, "", nil},
	{"personal.es-nie", "", "", 0, "", nil},
	{"personal.it-codice-fiscale", "", "", 0, "", nil},
	{"personal.sg-nric", "", "", 0, "", nil},
	{"personal.hk-id", "", "", 0, "", nil},
	{"personal.tw-id", "", "", 0, "", nil},
	{"personal.in-pan", "", "", 0, "", nil},
	{"personal.mx-curp", "", "", 0, "", nil},
	{"personal.fi-hetu", "", "", 0, "", nil},
	{"personal.ie-pps", "", "", 0, "", nil},
}

// identifiers is a set of subjects. Each of them stands for one identifier with check digits.
const identifiers = aboutSSN | aboutHealth | aboutGermany | aboutNetherlands | aboutPoland | aboutFrance | aboutSweden | aboutDenmark |
	aboutPortugal | aboutBrazil | aboutIndia | aboutCanada | aboutAustralia | aboutSouthAfrica | aboutTurkey | aboutRomania | aboutKorea |
	aboutChile | aboutArgentina | aboutCzechia | aboutBulgaria | aboutEstonia | aboutCroatia | aboutIsrael | aboutJapan | aboutAustria |
	aboutThailand | aboutBelgium

// identity tries the identifiers that have as many digits as the first k+1 groups. It begins with the identifier that
// a word names. If the check digit of that identifier is wrong, the number is not a finding. Identifiers that nearby
// words announce are next, and strong shapes are last.
func (s *Scanner) identity(v *view, start int, n *number, k int) (next int, ok bool) {
	if digits := n.total[k]; digits > 18 || len(identitiesBy[digits]) == 0 {
		return 0, false
	}
	if exact := s.exactly(start); exact != 0 {
		next, fits, wrong := s.identityAbout(v, start, n, k, exact, s.since(exact, start) <= 24)
		if fits {
			return next, true
		}
		if wrong && (k == 0 || k == n.count-1) {
			s.scratch.wrong = s.base + start + 1
			return 0, false
		}
	}
	part := k > 0 && k < n.count-1 && n.seps[k] == n.seps[0]
	if named := s.subjectsBefore(start) | s.subjectsAfter(v, n.ends[k]); named != 0 && !part {
		if next, ok, _ = s.identityAbout(v, start, n, k, named, false); ok {
			return next, true
		}
	}
	if s.isArticle(v, start) || k > 0 && n.inRow(v, start, k) || s.isOther(n, k, start) {
		return 0, false
	}
	next, ok, _ = s.identityAbout(v, start, n, k, 0, false)
	return next, ok
}

// identityAbout tries the identifiers of the given subjects. If subjects is 0, it tries the strong shapes of all
// identifiers. If loose is set, identifiers with check digits may have any grouping. If the number has the form of an
// identifier but not its check digits, wrong is true.
func (s *Scanner) identityAbout(v *view, start int, n *number, k int, subjects context, loose bool) (next int, ok, wrong bool) {
	d := n.digits[:n.total[k]]
	wanted := uint16(oneStrong)
	switch {
	case loose:
		wanted = 1<<16 - 1
	case k > 0:
		wanted = 1 << n.group(0)
	case subjects != 0:
		wanted |= oneWeak
	}
	for _, c := range identitiesBy[len(d)] {
		f := &identities[c.index]
		if c.shapes&wanted == 0 || subjects != 0 && subjects&f.subject == 0 {
			continue
		}
		unchecked := f.digits == "" && f.check == nil
		if k == 0 && unchecked && c.shapes&(oneStrong|oneWeak) == 0 {
			continue
		}
		if k > 0 && (!loose || unchecked || f.subject&(aboutSSN|aboutDenmark) != 0) && !n.isAny(k, f.strong) && (subjects == 0 || !n.isAny(k, f.weak)) {
			continue
		}
		if !satisfies(f.digits, d) || f.check != nil && !f.check(d) || runsOfOne(d) {
			wrong = true
			continue
		}
		if next, ok = s.emit(v, identityRule[c.index], start, n.ends[k]); ok {
			return next, true, false
		}
	}
	return 0, false, wrong
}

// countries lists the country codes that may come before national numbers, with the subjects of the numbers.
var countries = [...]struct {
	code    string
	subject context
}{
	{"BE", aboutBelgium}, {"BG", aboutBulgaria}, {"CL", aboutChile}, {"CZ", aboutCzechia}, {"DK", aboutDenmark}, {"EE", aboutEstonia},
	{"HR", aboutCroatia}, {"NL", aboutNetherlands}, {"PL", aboutPoland}, {"PT", aboutPortugal}, {"RO", aboutRomania}, {"SK", aboutCzechia},
}

// countryNumber looks for a national identifier after the code of its country, as in PT 501 964 843. The two letters
// of the code are at start.
func (s *Scanner) countryNumber(v *view, start int) (next int, ok bool) {
	for i := range countries {
		if !v.has(start, countries[i].code) {
			continue
		}
		from := start + 2
		if v.at(from) == ' ' {
			from++
		}
		n := &s.scratch.number
		n.read(v, from)
		for k := n.count - 1; k >= 0 && n.total[k] >= 8 && n.total[k] < len(identitiesBy); k-- {
			if n.ended(v, k) {
				next, ok, _ = s.identityAbout(v, start, n, k, countries[i].subject, false)
				return next, ok
			}
		}
	}
	return 0, false
}

// isOther reports whether the first k+1 groups are more likely something else: a time (202611220259 or
// 1795313530000), years, an amount (130 692 544), or a phone number after a word about phones.
func (s *Scanner) isOther(n *number, k, start int) bool {
	d := n.digits[:n.total[k]]
	if k > 0 && len(d) != 10 {
		return n.is(k, "3 3 3") && d[0] != '0' || n.is(k, "4 4 4") && isCentury(d[0], d[1]) && isCentury(d[4], d[5])
	}
	switch len(d) {
	case 12:
		if two(d[8:]) < 24 && two(d[10:]) < 60 {
			return true
		}
	case 13:
		if d[0] == '1' && d[1] >= '5' && d[1] <= '8' {
			return true
		}
	}
	return s.since(aboutPhone, start) <= 24
}

// digitCount says how an identifier may be grouped if it has a given number of digits. For each shape with several
// groups, shapes has the bit of the length of the first group, 1 to 14. It also has two bits for a single group.
type digitCount struct {
	index  uint8
	shapes uint16
}

// Bits for a single group of digits. The group is a strong or a weak shape.
const (
	oneStrong = 1
	oneWeak   = 1 << 15
)
