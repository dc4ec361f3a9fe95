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

// Cycle is how often a budget begins anew.
type Cycle uint8

const (
	Monthly Cycle = iota
	Weekly        // on Mondays
	Daily
)

// Bounds are the first day of the turn of a cycle that day is in, and the day after its last.
func (c Cycle) Bounds(day uint64) (first, end uint64) {
	switch c {
	case Weekly:
		monday := Monday(day)
		return monday, monday + 7
	case Daily:
		return day, day + 1
	}
	month := Month(day)
	return MonthStart(month), MonthStart(month + 1)
}

// Period is one turn of a budget's cycle as a number that only grows: how often the cycle was changed, the
// cycle, and the first day.
type Period uint64

const (
	epochShift = 32
	cycleShift = 28
)

// NewPeriod is the period that day is in, of a cycle that is the epoch-th of its budget.
func NewPeriod(c Cycle, epoch, day uint64) Period {
	first, _ := c.Bounds(day)
	return Period(epoch<<epochShift | uint64(c)<<cycleShift | first)
}

// ReadPeriod is a stored period. Before there were cycles, it was the number of a month.
func ReadPeriod(stored uint64) Period {
	if stored > 0 && stored < firstStart {
		return NewPeriod(Monthly, 0, MonthStart(stored))
	}
	return Period(stored)
}

// firstStart is a day (in 1997) before any budget's start, and a month (in 2803) after any.
const firstStart = 10_000

// Epoch is how often the cycle was changed before.
func (p Period) Epoch() uint64 { return uint64(p) >> epochShift }

// Cycle is the one that the period is a turn of.
func (p Period) Cycle() Cycle { return Cycle(p >> cycleShift & 15) }

// Bounds are the first day, and the day after the last.
func (p Period) Bounds() (first, end uint64) {
	return p.Cycle().Bounds(uint64(p) & (1<<cycleShift - 1))
}

// Contains says whether a day is in the period.
func (p Period) Contains(day uint64) bool {
	first, end := p.Bounds()
	return first <= day && day < end
}

// At is the period of the same cycle that another day is in.
func (p Period) At(day uint64) Period { return NewPeriod(p.Cycle(), p.Epoch(), day) }

// HourMs is one hour. Hour is the hour of its UTC day that an instant is in.
const HourMs = 60 * 60 * SecondMs

func Hour(ms uint64) uint64 { return ms % DayMs / HourMs }

// AppendTimestamp writes an instant as 2026-11-21T09:30:00.000Z (RFC 3339).
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
