package calendar_test

import (
	"testing"
	"time"

	"github.com/postern-ai/postern/core/calendar"
)

// TestEveryDay compares every day from 1970 to 2400 with package time.
func TestTotalNeverResets(t *testing.T) {
	p := calendar.NewPeriod(calendar.Total, 2, 20_000)
	for _, day := range []uint64{0, 20_000, 40_000} {
		if !p.Contains(day) || p.At(day) != p || calendar.NewPeriod(calendar.Total, 2, day) != p {
			t.Errorf("day %d is in another period", day)
		}
	}
	if p.Resets() || !calendar.NewPeriod(calendar.Daily, 2, 20_000).Resets() || p <= calendar.NewPeriod(calendar.Daily, 1, 30_000) {
		t.Error("the period resets, or does not follow one of an earlier epoch")
	}
}

func TestEveryDay(t *testing.T) {
	end := time.Date(2400, 12, 31, 0, 0, 0, 0, time.UTC)
	for at, day := time.Unix(0, 0).UTC(), uint64(0); !at.After(end); at, day = at.AddDate(0, 0, 1), day+1 {
		checkDay(t, at, day)
		if t.Failed() {
			return
		}
	}
}

func checkDay(t *testing.T, at time.Time, day uint64) {
	ms := uint64(at.UnixMilli())
	if calendar.Day(ms) != day || calendar.Day(ms+calendar.DayMs-1) != day {
		t.Errorf("%v is day %d, want %d", at, calendar.Day(ms), day)
	}
	year, month, dayOfMonth := calendar.Date(day)
	if year != uint64(at.Year()) || month != uint64(at.Month()) || dayOfMonth != uint64(at.Day()) {
		t.Errorf("%v has date %d-%d-%d", at, year, month, dayOfMonth)
	}
	if got := string(calendar.AppendDate([]byte(">"), day)); got != ">"+at.Format(time.DateOnly) {
		t.Errorf("%v is formatted as %s", at, got)
	}
	wantMonth := uint64(at.Year()-1970)*12 + uint64(at.Month()) - 1
	if got := calendar.Month(day); got != wantMonth {
		t.Errorf("%v is in month %d, want %d", at, got, wantMonth)
	}
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	if got := calendar.MonthStart(wantMonth); got != uint64(first.Unix()/86400) {
		t.Errorf("month %d starts on day %d, want %d", wantMonth, got, first.Unix()/86400)
	}
	monday := at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	if got := calendar.Monday(day); got != uint64(max(0, monday.Unix()/86400)) {
		t.Errorf("the Monday of %v is day %d, want %d", at, got, monday.Unix()/86400)
	}
}

func TestISOWeeksStartOnMondays(t *testing.T) {
	for year := 1971; year <= 2400; year++ {
		// January 4 is always in the first week of the ISO year (ISO 8601).
		at := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := time.Unix(int64(calendar.Monday(uint64(at.Unix()/86400)))*86400, 0).UTC()
		if isoYear, week := monday.ISOWeek(); isoYear != year || week != 1 || monday.Weekday() != time.Monday {
			t.Errorf("the first week of %d starts on %v", year, monday)
		}
	}
}

// TestPeriods checks for every cycle that a period contains exactly the days between its bounds, and that later
// periods have larger numbers.
func TestPeriods(t *testing.T) {
	const days = 400
	for _, cycle := range []calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily} {
		for day := uint64(20_600); day < 20_600+days; day++ {
			p := calendar.NewPeriod(cycle, 3, day)
			first, end := p.Bounds()
			if p.Cycle() != cycle || p.Epoch() != 3 || !p.Contains(first) || !p.Contains(end-1) || p.Contains(first-1) || p.Contains(end) || !p.Contains(day) {
				t.Fatalf("cycle %d, day %d: from %d to %d", cycle, day, first, end)
			}
			if next := p.At(end); next <= p || p.At(first) != p || p.At(end-1) != p || next.At(day) != p {
				t.Fatalf("cycle %d, day %d: period %x, next %x", cycle, day, p, next)
			}
			if calendar.ReadPeriod(uint64(p)) != p {
				t.Fatalf("stored period %x is read as %x", p, calendar.ReadPeriod(uint64(p)))
			}
		}
	}
	if a, b := calendar.NewPeriod(calendar.Daily, 1, 30_000), calendar.NewPeriod(calendar.Monthly, 2, 20_000); a >= b {
		t.Errorf("period %x of a later epoch is not larger than %x", b, a)
	}
}

// TestStoredMonths checks periods that were stored as month numbers, before budgets had cycles.
func TestStoredMonths(t *testing.T) {
	if p := calendar.ReadPeriod(0); p != 0 {
		t.Errorf("0 is read as %x", p)
	}
	for year := 1980; year <= 2400; year += 7 {
		month := uint64(year-1970)*12 + uint64(year%12)
		first := time.Date(year, time.Month(year%12+1), 1, 0, 0, 0, 0, time.UTC)
		p := calendar.ReadPeriod(month)
		start, end := p.Bounds()
		if p.Epoch() != 0 || p.Cycle() != calendar.Monthly || start != uint64(first.Unix()/86400) || end != uint64(first.AddDate(0, 1, 0).Unix()/86400) {
			t.Errorf("the month of %v is read as %x, days %d to %d", first, p, start, end)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Date(2026, 11, 21, 9, 8, 7, 6_000_000, time.UTC), time.Date(2024, 2, 29, 23, 59, 59, 999_000_000, time.UTC),
		time.Date(2400, 12, 31, 10, 0, 0, 120_000_000, time.UTC),
	} {
		ms := uint64(at.UnixMilli())
		want := at.UTC().Format("2006-01-02T15:04:05.000Z")
		if got := string(calendar.AppendTimestamp([]byte(">"), ms)); got != ">"+want || calendar.Hour(ms) != uint64(at.UTC().Hour()) {
			t.Errorf("%v is formatted as %s, its hour is %d", at, got, calendar.Hour(ms))
		}
	}
}
