package calendar_test

import (
	"testing"
	"time"

	"github.com/postern-ai/postern/core/calendar"
)

// TestEveryDay compares every day from 1970 to 2400 with package time.
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
		t.Errorf("%v has the date %d-%d-%d", at, year, month, dayOfMonth)
	}
	if got := string(calendar.AppendDate([]byte(">"), day)); got != ">"+at.Format(time.DateOnly) {
		t.Errorf("%v is written %s", at, got)
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
		t.Errorf("%v is in the week of day %d, want %d", at, got, monday.Unix()/86400)
	}
}

func TestISOWeeksBeginOnMondays(t *testing.T) {
	for year := 1971; year <= 2400; year++ {
		// The week with January 4th is the first of the ISO year (ISO 8601).
		at := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		monday := time.Unix(int64(calendar.Monday(uint64(at.Unix()/86400)))*86400, 0).UTC()
		if isoYear, week := monday.ISOWeek(); isoYear != year || week != 1 || monday.Weekday() != time.Monday {
			t.Errorf("the first week of %d begins on %v", year, monday)
		}
	}
}
