package governor

// months is the names of months in lower case by their first three letters, in English, German, French, Spanish,
// Italian, Portuguese and Dutch.
const months = "jan feb mar apr may jun jul aug sep oct nov dec " +
	"mai okt dez ene abr ago dic gen mag giu lug set ott fev avr jui aou out mei maa mrt"

// birthDate looks for a date within a few words after a word about birth that ends at i, in the same sentence.
func (s *Scanner) birthDate(v *view, i int) (next int, ok bool) {
	for limit := i + 32; i < limit; i++ {
		b := v.at(i)
		if b == '\n' || b == 0 || b == ';' || b == '{' || b == '(' || b == '.' && v.at(i+1) == ' ' && isLetterByte(v.at(i-3)) {
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

// date is the end of a whole date at i, or -1: 1990-03-14, 14.03.1990, 3/14/90, 14 March 1990, March 14, 1990.
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
		return dateEnd(v, end+m, n > 0 && day >= 1 && day <= 31 && m == 4 && plausibleYear(year))
	}
	first, n := decimal(v, i)
	sep := v.at(i + n)
	if end := month(v, filler(v, ordinal(v, i+n))); n <= 2 && end > 0 && sep != 0 {
		end = filler(v, end)
		year, m := decimal(v, end)
		return dateEnd(v, end+m, first >= 1 && first <= 31 && m == 4 && plausibleYear(year))
	}
	if sep != '-' && sep != '/' && sep != '.' && sep != ' ' {
		return -1
	}
	second, m := decimal(v, i+n+1)
	if v.at(i+n+1+m) != sep || m == 0 || m > 2 {
		return -1
	}
	third, k := decimal(v, i+n+m+2)
	end := i + n + m + k + 2
	if n == 4 {
		return dateEnd(v, end, plausibleYear(first) && isMonthDay(second, third) && k <= 2)
	}
	ok := (k == 4 && plausibleYear(third) || k == 2) && (isMonthDay(second, first) || isMonthDay(first, second))
	return dateEnd(v, end, ok && n <= 2)
}

func dateEnd(v *view, end int, ok bool) int {
	if !ok || isDigitByte(v.at(end)) {
		return -1
	}
	return end
}

func plausibleYear(year int) bool { return year >= 1900 && year <= 2099 }

// decimal is the number at i, of at most four digits, and its length.
func decimal(v *view, i int) (value, length int) {
	for length < 4 && isDigitByte(v.at(i+length)) {
		value = value*10 + int(v.at(i+length)-'0')
		length++
	}
	return value, length
}

// ordinal skips st, nd, rd, th or a full stop after a day.
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

// month is the end of the name of a month at i, or -1.
func month(v *view, i int) int {
	end := v.run(i, 11, isLower|isUpper)
	if end-i < 3 || end-i > 10 {
		return -1
	}
	first := v.text[i] | 0x20
	for j := 0; j < len(months); j += 4 {
		if months[j] == first && equalFold(months[j:j+3], v.text[i:i+3]) {
			return end
		}
	}
	return -1
}
