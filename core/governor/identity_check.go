package governor

import (
	"strings"

	"github.com/postern-ai/postern/core/governor/checksum"
)

// The checks below receive as many digits as one of the identifier's shapes has. The last character for cnResident
// may be an X.

//go:noinline
func two(d []byte) int { return int(d[0]-'0')*10 + int(d[1]-'0') }

// isDate reports whether six digits are a year, month and day.
func isDate(d []byte) bool { return isMonthDay(two(d[2:]), two(d[4:])) }

func isDayFirst(d []byte) bool { return isMonthDay(two(d[2:]), two(d)) }

// isMonthDay reports whether two numbers can be a month and a day in that month.
//
//go:noinline
func isMonthDay(month, day int) bool {
	return month >= 1 && month <= 12 && day >= 1 && day <= 31 && (day <= 30 || month != 4 && month != 6 && month != 9 && month != 11) && (month != 2 || day <= 29)
}

// satisfies reports whether digits have all properties in a rule:
//
//	Y         a date at the start: year, month, day
//	y         the same date after one digit
//	D         a date at the start: day, month, year
//	M         a date at the start: year, month, day, with the century in the month
//	L, N, V   a check digit: Luhn, ISO/IEC 7064 MOD 11,10, Verhoeff
//	a29       the digit at a position (a is the first) is in a range
//	%z9 8 7;  the sum of the first digits times their weights fits: see fitsSum
func satisfies(rule string, d []byte) bool {
	for i := 0; i < len(rule); i++ {
		ok := false
		switch b := rule[i]; b {
		case 'Y':
			ok = isDate(d)
		case 'y':
			ok = isDate(d[1:])
		case 'D':
			ok = isDayFirst(d)
		case 'M':
			ok = isMonthDay(two(d[2:])%20, two(d[4:]))
		case 'L':
			ok = checksum.Luhn(d)
		case 'N':
			ok = checksum.Mod11x10(d)
		case 'V':
			ok = checksum.Verhoeff(d)
		case '%':
			kind := rule[i+1]
			weights, _, _ := strings.Cut(rule[i+2:], ";")
			ok = fitsSum(kind, weights, d)
			i += 2 + len(weights)
		default:
			digit := d[b-'a']
			ok = digit >= rule[i+1] && digit <= rule[i+2]
			i += 2
		}
		if !ok {
			return false
		}
	}
	return true
}

// fitsSum checks the weighted sum. For the kind 0, the sum must be divisible by 11, and for the kind t by 10. For the
// other kinds, the digit after the weighted digits must be the check digit. For the kinds z and o, the check digit is
// 11 minus the remainder modulo 11. If the result is 10 or 11, the check digit of z is 0, and the check digit of o is
// the last digit of the result. For the kinds m and r, the check digit is the remainder. A remainder of 10 counts as
// zero for m and as one for r.
func fitsSum(kind byte, weights string, d []byte) bool {
	sum := checksum.Weighted(d, weights)
	check := sum % 11
	switch kind {
	case '0':
		return check == 0
	case 't':
		return sum%10 == 0
	case 'z':
		if check = 11 - check; check > 9 {
			check = 0
		}
	case 'o':
		check = (11 - check) % 10
	case 'm':
		check %= 10
	case 'r':
		if check == 10 {
			check = 1
		}
	}
	return check == checksum.Digit(d[strings.Count(weights, " ")+1])
}

func anyDigits([]byte) bool { return true }

func usSSN(d []byte) bool {
	area, group, serial := int(checksum.Mod(d[:3], 1000)), two(d[3:]), checksum.Mod(d[5:], 10000)
	return area != 0 && area != 666 && area < 900 && group != 0 && serial != 0
}

// usITIN reports whether the number begins with 9 and has a group that the IRS assigns. Source:
// https://www.irs.gov/pub/irs-pdf/p4757.pdf, "ITIN structure".
func usITIN(d []byte) bool {
	group := two(d[3:])
	return d[0] == '9' && group >= 50 && group != 89 && group != 93 && (group <= 65 || group >= 70)
}

// usNPI puts the issuer's prefix, 80840, before the number and does the Luhn check.
func usNPI(d []byte) bool {
	var all [15]byte
	copy(all[:], "80840")
	copy(all[5:], d)
	return (d[0] == '1' || d[0] == '2') && checksum.Luhn(all[:])
}

func auABN(d []byte) bool {
	return (checksum.Weighted(d, "10 1 3 5 7 9 11 13 15 17 19")-10)%89 == 0 && d[0] != '0'
}

// frNIR checks a number of 13 digits, or of 15 digits with two check digits at the end.
func frNIR(d []byte) bool {
	month := two(d[3:])
	if !oneOf(d[0], "123478") || month == 0 || month > 12 && month < 20 || month > 42 && month < 50 {
		return false
	}
	return len(d) == 13 || 97-checksum.Mod(d[:13], 97) == two(d[13:])
}

func beNational(d []byte) bool {
	month, day := two(d[2:]), two(d[4:])
	if month%20 > 12 || month > 52 || day > 31 {
		return false
	}
	check := two(d[9:])
	before2000 := checksum.Mod(d[:9], 97)
	since2000 := (checksum.Mod(d[:9], 97) + 2000000000%97) % 97
	return (month%20 == 0 && day > 0 || isMonthDay(month%20, day)) && // the month of an unknown date is zero
		(97-before2000 == check || 97-since2000 == check)
}

func sePersonnummer(d []byte) bool {
	if len(d) == 12 {
		if century := two(d); century < 18 || century > 20 {
			return false
		}
		d = d[2:]
	}
	day := two(d[4:])
	if day > 60 {
		day -= 60 // a coordination number
	}
	return isMonthDay(two(d[2:]), day) && checksum.Luhn(d)
}

func noBirthNumber(d []byte) bool {
	day, month := two(d), two(d[2:])
	if day > 40 {
		day -= 40 // a D number
	}
	if month > 40 {
		month -= 40 // a synthetic or H number
	}
	if serial := checksum.Mod(d[6:9], 1000); two(d[4:]) >= 40 && serial >= 500 && serial < 900 && (two(d[4:]) < 54 || serial >= 750) {
		return false // of no century
	}
	return isMonthDay(month, day) && checksum.Weighted(d, "3 7 6 1 8 9 4 5 2 1")%11 == 0 &&
		checksum.Weighted(d, "5 4 3 2 7 6 5 4 3 2 1")%11 == 0
}

// cnRegions lists the first two digits of the provinces' codes. Source: GB/T 2260.
const cnRegions = "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83"

// cnResident checks 17 digits and the digit or X after them.
func cnResident(d []byte) bool {
	region := false
	for i := 0; i < len(cnRegions); i += 3 {
		region = region || cnRegions[i] == d[0] && cnRegions[i+1] == d[1]
	}
	century := two(d[6:])
	return region && (century == 19 || century == 20) && isDate(d[8:]) && checksum.Mod11x2(d)
}

func trIdentity(d []byte) bool {
	odd := checksum.Weighted(d, "1 0 1 0 1 0 1 0 1")
	even := checksum.Weighted(d, "0 1 0 1 0 1 0 1")
	tenth := ((odd*7-even)%10 + 10) % 10
	return d[0] != '0' && tenth == checksum.Digit(d[9]) && (odd+even+tenth)%10 == checksum.Digit(d[10])
}

func atSVNR(d []byte) bool {
	check := checksum.Weighted(d, "3 7 9 0 5 8 4 2 1 6") % 11
	month := two(d[6:])
	return check == checksum.Digit(d[3]) && month >= 1 && month <= 15 && two(d[4:]) <= 31
}

// krRRN also accepts the other check digit, which foreigners' numbers have. The seventh digit of a foreigner's number
// is 5 or more. Numbers issued since October 2020 end in random digits. They are findings only near a word about
// them.
func krRRN(d []byte) bool {
	check := 11 - checksum.Weighted(d, "2 3 4 5 6 7 8 9 2 3 4 5")%11
	last := checksum.Digit(d[12])
	return isDate(d) && d[6] >= '1' && d[6] <= '8' && (check%10 == last || d[6] >= '5' && (check+2)%10 == last)
}

func arCUIT(d []byte) bool {
	prefix := two(d)
	check := 11 - checksum.Weighted(d, "5 4 3 2 7 6 5 4 3 2")%11
	return (prefix >= 20 && prefix <= 27 || prefix >= 30 && prefix <= 34 || prefix >= 50 && prefix <= 55) && (check%11 == checksum.Digit(d[10]) || check == 10 && d[10] == '9')
}

func czBirthNumber(d []byte) bool {
	month := two(d[2:]) % 50 // +50 for women, +20 if there were no more numbers for the day
	if month > 20 {
		month -= 20
	}
	if !isMonthDay(month, two(d[4:])) {
		return false
	}
	return len(d) == 9 && two(d) < 54 || len(d) == 10 && (checksum.Mod(d, 11) == 0 || checksum.Mod(d[:9], 11) == 10 && d[9] == '0')
}

func eePersonalCode(d []byte) bool {
	check := checksum.Weighted(d, "1 2 3 4 5 6 7 8 9 1") % 11
	if check == 10 {
		check = checksum.Weighted(d, "3 4 5 6 7 8 9 1 2 3") % 11 % 10
	}
	return d[0] >= '1' && d[0] <= '8' && isDate(d[1:]) && check == checksum.Digit(d[10])
}

// clRUT takes only digits. letters.go handles a RUT that ends in K.
func clRUT(d []byte) bool { return clDigit(d[:len(d)-1]) == d[len(d)-1] }

// clPerson accepts the numbers of most adults, from 10 to 29 million. It does not accept a date with a number after
// it, such as 20261122-1.
func clPerson(d []byte) bool {
	return (d[0] == '1' || d[0] == '2') && !(isCentury(d[0], d[1]) && isDate(d[2:])) && clRUT(d)
}

// clDigit returns the check character of a Chilean RUT. It computes the character modulo 11 with the weights 2 to 7
// from the right.
func clDigit(d []byte) byte {
	sum := 0
	for i := range d {
		sum += checksum.Digit(d[len(d)-1-i]) * (2 + i%6)
	}
	switch r := 11 - sum%11; r {
	case 11:
		return '0'
	case 10:
		return 'K'
	default:
		return byte('0' + r)
	}
}

// isKennitala also accepts the numbers of companies. In those, the day is increased by 40.
func isKennitala(d []byte) bool {
	day := two(d)
	if day > 40 {
		day -= 40
	}
	return isMonthDay(two(d[2:]), day) && (d[9] == '9' || d[9] == '0') && checksum.Weighted(d, "3 2 7 6 5 4 3 2 1")%11 == 0
}

// myID also checks the place of birth. The place is the number of a state or, from 60 on, of a country.
func myID(d []byte) bool {
	place := two(d[6:])
	return isDate(d) && place > 0 && (place < 17 || place > 20)
}

func ruSNILS(d []byte) bool {
	return checksum.Weighted(d, "9 8 7 6 5 4 3 2 1")%101%100 == two(d[9:])
}

// yuJMBG checks a Yugoslav number, which the successor states still use: day, month, three digits of the year,
// region.
func yuJMBG(d []byte) bool {
	check := 11 - checksum.Weighted(d, "7 6 5 4 3 2 7 6 5 4 3 2")%11
	return isDayFirst(d) && (d[4] == '9' || d[4] == '0') && check%11 == checksum.Digit(d[12]) && check != 10
}

// lvCode checks a Latvian personal code: date of birth, century, serial number, check digit. Source:
// https://www.pmlp.gov.lv
func lvCode(d []byte) bool {
	return isDayFirst(d) && d[6] <= '2' && (1+checksum.Weighted(d, "10 5 8 4 2 1 6 3 7 9"))%11%10 == checksum.Digit(d[10])
}

// esSocial checks a Spanish social security number: province, number, remainder modulo 97. Source:
// https://www.seg-social.es
func esSocial(d []byte) bool { return two(d) <= 66 && checksum.Mod(d[:10], 97) == two(d[10:]) }

// kwCivil checks a Kuwaiti civil number: century, date of birth, serial number, check digit. Source:
// https://www.paci.gov.kw
func kwCivil(d []byte) bool {
	return 11-checksum.Weighted(d, "2 1 6 3 7 9 10 5 8 4 2")%11 == checksum.Digit(d[11])
}

// frTax checks a person's French tax number: ten digits and their remainder modulo 511. Source:
// https://www.impots.gouv.fr
func frTax(d []byte) bool { return checksum.Mod(d[:10], 511) == checksum.Mod(d[10:], 1000) }

// luNational checks a person's national number in Luxembourg: date of birth, serial number, and two check digits over
// the first eleven digits. One check digit is Luhn's and the other is Verhoeff's. Source: https://guichet.public.lu
func luNational(d []byte) bool {
	other := [12]byte{11: d[12]}
	copy(other[:], d[:11])
	return isCentury(d[0], d[1]) && isDate(d[2:]) && checksum.Luhn(d[:12]) && checksum.Verhoeff(other[:])
}

// egNational checks the governorate in an Egyptian national number: century, date of birth, governorate, serial
// number. Source: https://en.wikipedia.org/wiki/Egyptian_National_Identity_Card
func egNational(d []byte) bool {
	place := two(d[7:])
	return place >= 1 && place <= 4 || place >= 11 && place <= 35 && place != 20 && place != 30 || place == 88
}
