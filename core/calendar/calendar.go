// Package calendar turns Unix milliseconds into UTC days, ISO weeks and months, and back into text. Days
// are counted from 1970-01-01, months from January 1970. (The core cannot use package time.)
package calendar

const (
	SecondMs = 1000
	DayMs    = 24 * 60 * 60 * SecondMs
)

// Day is the UTC day of an instant.
func Day(ms uint64) uint64 { return ms / DayMs }

// Monday is the first day of the ISO week that day is in. (1970-01-01 was a Thursday.)
func Monday(day uint64) uint64 {
	weekday := (day + 3) % 7
	if weekday > day {
		return 0
	}
	return day - weekday
}

// Month is the month that day is in.
func Month(day uint64) uint64 {
	year, month, _ := Date(day)
	return (year-1970)*12 + month - 1
}

// MonthStart is the first day of a month.
func MonthStart(month uint64) uint64 {
	year, m := 1970+month/12, month%12+1
	// Days before a date, with the year starting in March so that the leap day comes last.
	if m <= 2 {
		year, m = year-1, m+12
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(m-3)+2)/5 - 719468
}

// Date is a day's year, month (1 to 12) and day of the month.
func Date(day uint64) (year, month, dayOfMonth uint64) {
	// Eras of 400 years from 0000-03-01; Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
	z := day + 719468
	era := z / 146097
	dayOfEra := z % 146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	dayOfMonth = dayOfYear - (153*m+2)/5 + 1
	year, month = yearOfEra+era*400, m+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, dayOfMonth
}

// AppendDate writes a day as 2026-11-21.
func AppendDate(dst []byte, day uint64) []byte {
	year, month, dayOfMonth := Date(day)
	dst = append(dst, byte('0'+year/1000%10), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10))
	dst = append(dst, '-', byte('0'+month/10), byte('0'+month%10))
	return append(dst, '-', byte('0'+dayOfMonth/10), byte('0'+dayOfMonth%10))
}
