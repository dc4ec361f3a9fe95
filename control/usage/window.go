package usage

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// window is the range of a report in whole UTC days or ten-minute spans.
type window struct {
	days       bool
	first, end uint64 // in days or spans since 1970-01-01; end is exclusive
}

// rangeWords are the names of the ranges that end now. These ranges consist of ten-minute spans, or of whole days
// including today.
var rangeWords = []string{"1h", "24h", "7d", "30d", "90d", "month"}

const (
	wordHour, wordDay, wordWeek, word30Days, word90Days, wordMonth = "1h", "24h", "7d", "30d", "90d", "month"

	maxMinuteSpans = 3 * ledger.HourSpans
	maxSpans       = ledger.KeepHourDays * ledger.DaySpans
)

// windowOf returns the window of a range that ends now. "1h" covers up to 70 minutes, so it never covers less than an
// hour.
func windowOf(word string, nowMs uint64) window {
	today, end := calendar.Day(nowMs), nowMs/ledger.SpanMs+1
	switch word {
	case wordHour:
		return window{first: end - 1 - ledger.HourSpans, end: end}
	case wordDay:
		return window{first: end - ledger.DaySpans, end: end}
	case wordWeek:
		return window{first: end - 7*ledger.DaySpans, end: end}
	case word30Days:
		return window{true, today - 29, today + 1}
	case word90Days:
		return window{true, today - 89, today + 1}
	}
	first, _ := calendar.Monthly.Bounds(today)
	return window{true, first, today + 1}
}

// before returns the previous window of the same length.
func (w window) before() window {
	return window{w.days, w.first - (w.end - w.first), w.first}
}

// from and to return the bounds as the API shows them. For whole days, they return the first and the last day.
// Otherwise, they return two times, and to is exclusive.
func (w window) from() string {
	if w.days {
		return kernel.DateText(w.first)
	}
	return kernel.Timestamp(w.first * ledger.SpanMs)
}

func (w window) to() string {
	if w.days {
		return kernel.DateText(w.end - 1)
	}
	return kernel.Timestamp(w.end * ledger.SpanMs)
}

// spans returns the bounds of the window in ten-minute spans.
func (w window) spans() (first, end uint64) {
	if w.days {
		return w.first * ledger.DaySpans, w.end * ledger.DaySpans
	}
	return w.first, w.end
}

// step returns the grouping by time that fits the length of the window.
func (w window) step() string {
	switch {
	case w.days:
		return groupDay
	case w.end-w.first <= maxMinuteSpans:
		return groupMinute
	}
	return groupHour
}

// readWindow reads range, or from and to. If from and to are dates, both are inclusive. They may also be times. The
// default is the current month.
func (h *handler) readWindow(q *kernel.Query) (w window, valid bool) {
	word, from, to := q.Choice("range", rangeWords), q.Values.Get("from"), q.Values.Get("to")
	switch {
	case word != "" && from+to != "":
		q.Problem("range", "cannot be combined with from and to")
		return w, false
	case word != "":
		return windowOf(word, h.NowMs()), len(q.Problems) == 0
	case strings.Contains(from, "T") || strings.Contains(to, "T"):
		return h.readTimes(q)
	}
	first, end, valid := h.readDays(q)
	return window{true, first, end}, valid
}

// readTimes reads two bounds. One of them is a time, and the other is a time or a date. The bounds are rounded
// outward to whole ten-minute spans.
func (h *handler) readTimes(q *kernel.Query) (w window, valid bool) {
	before := len(q.Problems)
	from, to := q.Instant("from", 0), q.Instant("to", calendar.DayMs)
	w = window{first: from / ledger.SpanMs, end: (to + ledger.SpanMs - 1) / ledger.SpanMs}
	oldest := (calendar.Day(h.NowMs()) - hourDays) * ledger.DaySpans
	switch {
	case len(q.Problems) > before:
	case w.end <= w.first:
		q.Problem("to", "must be after from"+kernel.Got(q.Values.Get("to")))
	case w.first < oldest:
		q.Problem("from", "must not be before "+kernel.Timestamp(oldest*ledger.SpanMs)+"; send dates for earlier days"+kernel.Got(q.Values.Get("from")))
	case w.end-w.first > maxSpans:
		q.Problem("to", "must be at most "+strconv.Itoa(ledger.KeepHourDays)+" days after from"+kernel.Got(q.Values.Get("to")))
	}
	return w, len(q.Problems) == before
}
