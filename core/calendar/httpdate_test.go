package calendar_test

import (
	"testing"
	"time"

	"github.com/postern-ai/postern/core/calendar"
)

// TestHTTPDates compares the parser for all three HTTP date formats, and the writer, with package time.
func TestHTTPDates(t *testing.T) {
	const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"
	for day := range 40_000 {
		at := time.Unix(int64(day)*86_400+int64(day*7919)%86_400, 0).UTC()
		if got := string(calendar.AppendHTTPDate([]byte("x"), uint64(at.UnixMilli())+999)); got != at.Format("xMon, 02 Jan 2006 15:04:05 GMT") {
			t.Fatalf("%v is written as %q", at, got)
		}
		forms := []string{at.Format("Mon, 02 Jan 2006 15:04:05 GMT"), at.Format(time.ANSIC)}
		if at.Year() < 2050 {
			forms = append(forms, at.Format(rfc850))
		}
		for _, text := range forms {
			if ms, ok := calendar.ParseHTTPDate(text); !ok || ms != uint64(at.UnixMilli()) {
				t.Fatalf("%q is parsed as %d, %v; want %d", text, ms, ok, at.UnixMilli())
			}
		}
	}
}

func TestInvalidHTTPDates(t *testing.T) {
	for _, text := range []string{
		"", "120", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nvo 1994 08:49:37 GMT", "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
		"Sun, 31 Feb 2027 08:49:37 GMT", "Mon, 29 Feb 2027 08:49:37 GMT",
		"Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37", "Sun, 06-Nov 08:49:37 GMT",
	} {
		if ms, ok := calendar.ParseHTTPDate(text); ok {
			t.Errorf("%q is parsed as %d, want an error", text, ms)
		}
	}
}
