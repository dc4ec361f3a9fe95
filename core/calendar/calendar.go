// Package calendar converts Unix milliseconds to UTC days, ISO weeks and months, and formats them as text. Days
// are counted from 1970-01-01, months from January 1970. The core cannot import package time.
package calendar

const (
	SecondMs = 1000
	DayMs    = 24 * 60 * 60 * SecondMs
)

// Day returns the UTC day of a time in Unix milliseconds.
func Day(ms uint64) uint64 { return ms / DayMs }

// Monday returns the first day of the ISO week that contains day, or 0 if the week began before 1970-01-01, which was
// a Thursday.
func Monday(day uint64) uint64 {
	weekday := (day + 3) % 7
	if weekday > day {
		return 0
	}
	return day - weekday
}

// Month returns the month that contains day.
func Month(day uint64) uint64 {
	year, month, _ := Date(day)
	return (year-1970)*12 + month - 1
}

// MonthStart returns the first day of a month.
func MonthStart(month uint64) uint64 {
	year, m := 1970+month/12, month%12+1
	// Here, the year starts in March so that the leap day is its last day.
	if m <= 2 {
		year, m = year-1, m+12
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(m-3)+2)/5 - 719468
}

// Date returns a day's year, month (1 to 12) and day of the month (from 1).
func Date(day uint64) (year, month, dayOfMonth uint64) {
	// This counts eras of 400 years from 0000-03-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date
	// Algorithms".
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

// AppendDate appends a day in the form 2026-11-21.
func AppendDate(dst []byte, day uint64) []byte {
	year, month, dayOfMonth := Date(day)
	dst = append(dst, byte('0'+year/1000%10), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10))
	dst = append(dst, '-', byte('0'+month/10), byte('0'+month%10))
	return append(dst, '-', byte('0'+dayOfMonth/10), byte('0'+dayOfMonth%10))
}

// Cycle is the interval at which a budget resets, in UTC.
type Cycle uint8

const (
	Monthly Cycle = iota
	Weekly        // on Mondays
	Daily
	Total // never: the budget is prepaid
)

// Bounds returns the first day of the period that contains day, and the first day after that period.
func (c Cycle) Bounds(day uint64) (first, end uint64) {
	switch c {
	case Weekly:
		monday := Monday(day)
		return monday, monday + 7
	case Daily:
		return day, day + 1
	case Total:
		return 0, endOfTime
	}
	month := Month(day)
	return MonthStart(month), MonthStart(month + 1)
}

// endOfTime is a day after all others. Its milliseconds fit into the numbers of JavaScript.
const endOfTime = 100_000_000

// Period is one month, week or day of a budget. A budget's later periods have larger numbers. The high bits are the
// epoch, which is the number of times that the cycle was changed. The cycle and the period's first day follow. 0
// means no period.
type Period uint64

const (
	epochShift = 32
	cycleShift = 28
)

// NewPeriod returns the period that contains day, for a budget whose cycle was changed epoch times. A budget that never
// resets has only one.
func NewPeriod(c Cycle, epoch, day uint64) Period {
	first, _ := c.Bounds(day)
	return Period(epoch<<epochShift | uint64(c)<<cycleShift | first)
}

// ReadPeriod converts a stored number to a Period. Rows and messages written before budgets had cycles contain the
// number of a month.
func ReadPeriod(stored uint64) Period {
	if stored > 0 && stored < firstStart {
		return NewPeriod(Monthly, 0, MonthStart(stored))
	}
	return Period(stored)
}

// firstStart separates the two stored forms. As a day, it is in 1997, before any budget. As a month, it is in 2803,
// after any budget.
const firstStart = 10_000

// Epoch returns the number of times the budget's cycle was changed before this period.
func (p Period) Epoch() uint64 { return uint64(p) >> epochShift }

// Cycle returns the cycle of the period.
func (p Period) Cycle() Cycle { return Cycle(p >> cycleShift & 15) }

// Bounds returns the period's first day and the first day after the period.
func (p Period) Bounds() (first, end uint64) {
	return p.Cycle().Bounds(uint64(p) & (1<<cycleShift - 1))
}

// Contains reports whether a day is in the period.
func (p Period) Contains(day uint64) bool {
	first, end := p.Bounds()
	return first <= day && day < end
}

// Resets reports whether the period ends.
func (p Period) Resets() bool { return p.Cycle() != Total }

// At returns the period with the same cycle and epoch that contains day.
func (p Period) At(day uint64) Period { return NewPeriod(p.Cycle(), p.Epoch(), day) }

// HourMs is one hour in milliseconds.
const HourMs = 60 * 60 * SecondMs

// Hour returns the UTC hour, 0 to 23, of a time in Unix milliseconds.
func Hour(ms uint64) uint64 { return ms % DayMs / HourMs }

// AppendTimestamp appends a time in Unix milliseconds in the form 2026-11-21T09:30:00.000Z (RFC 3339).
func AppendTimestamp(dst []byte, ms uint64) []byte {
	dst = append(AppendDate(dst, Day(ms)), 'T')
	second := ms % DayMs / SecondMs
	for i, part := range [...]uint64{second / 3600, second / 60 % 60, second % 60} {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, byte('0'+part/10), byte('0'+part%10))
	}
	ms %= SecondMs
	return append(dst, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}
