package governor

// months lists the first three letters of month names, in lower case, in English, German, French, Spanish, Italian,
// Portuguese and Dutch.
const months = "jan feb mar apr may jun jul aug sep oct nov dec " +
	"mai okt dez ene abr ago dic gen mag giu lug set ott fev avr jui aou out mei maa mrt maj"

// birthDate looks for a date after a word about birth. The word ends at i. The date must be in the same sentence, at
// most a few words later.
func (s *Scanner) birthDate(v *view, i int) (next int, ok bool) {
	for limit := i + 32; i < limit; i++ {
		b := v.at(i)
		if b == 0 || b == '{' || b == '.' && v.at(i+1) == ' ' && isLetterByte(v.at(i-3)) {
			return 0, false
		}
		if !isAlnum(b) {
			continue
		}
		if end := date(v, i); end > 0 {
			return s.emit(v, ruleBirthDate, i, end)
		}
		if isDigitByte(b) {
			return 0, false
		}
		i = v.run(i, 20, isLower|isUpper) - 1
	}
	return 0, false
}

// date returns the end of a complete date at i, or -1. It recognizes 1990-03-14, 14.03.1990, 3/14/90, 14 March 1990,
// March 14, 1990, 1990-Mar-14.
func date(v *view, i int) int {
	if isLetterByte(v.at(i)) {
		end := month(v, i)
		if end < 0 {
			return -1
		}
		end = filler(v, end)
		day, n := decimal(v, end)
		end = filler(v, ordinal(v, end+n))
		year, m := decimal(v, end)
		return dateEnd(v, end+m, n > 0 && day >= 1 && day <= 31 && isYear(year, m))
	}
	first, n := decimal(v, i)
	sep := v.at(i + n)
	if end := month(v, filler(v, ordinal(v, i+n))); n <= 2 && end > 0 && sep != 0 {
		end = filler(v, end)
		year, m := decimal(v, end)
		return dateEnd(v, end+m, first >= 1 && first <= 31 && isYear(year, m))
	}
	if end := month(v, filler(v, i+n)); n == 4 && end > 0 && sep != 0 { // 1990-Mar-14
		end = filler(v, end)
		day, m := decimal(v, end)
		return dateEnd(v, end+m, plausibleYear(first) && day >= 1 && day <= 31)
	}
	if n == 4 && isDigitByte(sep) {
		return compactDate(v, first, i+n)
	}
	at, sep := dateSeparator(v, i+n)
	second, m := decimal(v, at)
	end, again := dateSeparator(v, at+m)
	if sep == 0 || again != sep || m == 0 || m > 2 {
		return -1
	}
	third, k := decimal(v, end)
	if n == 4 {
		return dateEnd(v, end+k, plausibleYear(first) && isMonthDay(second, third) && k <= 2)
	}
	return dateEnd(v, end+k, n <= 2 && isYear(third, k) && (isMonthDay(second, first) || isMonthDay(first, second)))
}

// compactDate returns the end of a date of eight digits, such as 19900314 or 14031990. The date's first four digits
// come before i. If there is no such date, compactDate returns -1.
func compactDate(v *view, first, i int) int {
	last, n := decimal(v, i)
	yearFirst := plausibleYear(first) && isMonthDay(last/100, last%100)
	return dateEnd(v, i+n, n == 4 && (yearFirst || plausibleYear(last) && (isMonthDay(first%100, first/100) || isMonthDay(first/100, first%100))))
}

// dateSeparator reads the separator at i and the spaces around it. It returns the position after them and the
// separator's character. If there is no separator, the character is 0. The Chinese and Korean words for year and
// month count as a dash.
func dateSeparator(v *view, i int) (next int, sep byte) {
	if v.at(i) == ' ' && oneOf(v.at(i+1), "-/.") {
		i++
	}
	sep = v.at(i)
	switch {
	case v.has(i, "年"), v.has(i, "月"), v.has(i, "년"), v.has(i, "월"):
		i, sep = i+len("年"), '-'
	case oneOf(sep, "-/. "):
		i++
	default:
		return i, 0
	}
	if v.at(i) == ' ' {
		i++
	}
	return i, sep
}

func dateEnd(v *view, end int, ok bool) int {
	if !ok || isDigitByte(v.at(end)) {
		return -1
	}
	if v.has(end, "日") || v.has(end, "일") {
		end += len("日")
	}
	return end
}

func isYear(year, digits int) bool { return digits == 4 && plausibleYear(year) || digits == 2 }

func plausibleYear(year int) bool { return year >= 1900 && year <= 2099 }

// decimal returns the number at i, of at most four digits, and its length.
func decimal(v *view, i int) (value, length int) {
	for length < 4 && isDigitByte(v.at(i+length)) {
		value = value*10 + int(v.at(i+length)-'0')
		length++
	}
	return value, length
}

func ordinal(v *view, i int) int {
	a, b := v.at(i)|0x20, v.at(i+1)|0x20
	if a == 's' && b == 't' || a == 'n' && b == 'd' || a == 'r' && b == 'd' || a == 't' && b == 'h' {
		return i + 2
	}
	return i
}

// filler skips at most three separators and the words "of" and "de".
func filler(v *view, i int) int {
	for range 2 {
		for end := i + 3; i < end && (v.at(i) == ' ' || v.at(i) == ',' || v.at(i) == '.' || v.at(i) == '-' || v.at(i) == '/'); i++ {
		}
		if !v.has(i, "of ") && !v.has(i, "de ") {
			return i
		}
		i += 2
	}
	return i
}

// month returns the end of the name of a month at i, or -1 if there is none. Accents do not matter: März, févr.,
// août.
func month(v *view, i int) int {
	var name [3]byte
	n := 0
	end := i
	for ; end < i+12; end++ {
		b := v.at(end)
		switch {
		case isLetterByte(b):
			b |= 0x20
		case b == 0xc3 && v.at(end+1) >= 0xa0:
			end++
			b = plainLetter(v.at(end))
		default:
			return monthEnd(name, end, n)
		}
		if n < 3 {
			name[n] = b
		}
		n++
	}
	return -1
}

// plainLetter removes the accent from a letter of a month's name. b is the last byte of the letter's UTF-8 form. For
// other letters, the result is 0.
func plainLetter(b byte) byte {
	switch {
	case b <= 0xa5:
		return 'a'
	case b >= 0xa8 && b <= 0xab:
		return 'e'
	case b >= 0xb9:
		return 'u'
	}
	return 0
}

// monthEnd returns end if a word may be the name of a month, or -1 if not. The word has n letters, and name holds the
// first three.
func monthEnd(name [3]byte, end, n int) int {
	if n < 3 || n > 10 {
		return -1
	}
	for j := 0; j < len(months); j += 4 {
		if months[j] == name[0] && months[j+1] == name[1] && months[j+2] == name[2] {
			return end
		}
	}
	return -1
}
