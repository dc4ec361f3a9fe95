package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// A span is ten minutes, numbered from 1970-01-01. A project has one row for each span with activity: about 100 bytes
// for each model and key. Rows are kept for comparisons until they are older than twice KeepHourDays. After that, all
// rows of a day are merged into one.
const (
	SpanMs   = 10 * minuteMs
	minuteMs = 60_000
	// DaySpans and HourSpans are the numbers of spans in a day and in an hour.
	DaySpans  = calendar.DayMs / SpanMs
	HourSpans = calendar.HourMs / SpanMs

	// maxSpanModels and maxSpanKeys limit the models and keys that a row lists separately.
	maxSpanModels = 64
	maxSpanKeys   = 128
)

// span is the activity of ten minutes or of a day.
type span struct {
	minutes []spanMinute // empty for a day
	models  []Named
	keys    []Named
}

// spanMinute is the usage that the Ledger received in one minute, a few seconds after the requests.
type spanMinute struct {
	minute uint64 // since 1970-01-01
	Usage
}

func (s *span) fields(f *abi.Fields) {
	f.Format(format)
	abi.List(f, &s.minutes, func(f *abi.Fields, m *spanMinute) {
		f.Uint(&m.minute)
		countsFields(f, &m.Usage)
	})
	abi.List(f, &s.models, NamedFields)
	abi.List(f, &s.keys, NamedFields)
}

func decodeSpan(data []byte) (s span, err error) {
	err = abi.DecodeFields(data, s.fields)
	return s, err
}

func spanKey(number uint64) string { return rowSpans + abi.Fixed(number) }

func spanDayKey(day uint64) string { return rowSpanDays + abi.Fixed(day) }

// timeWithin returns the time within an hour that is closest to now.
func timeWithin(hour, now uint64) uint64 {
	return max(hour*calendar.HourMs, min(now, (hour+1)*calendar.HourMs-1))
}

// spanRange returns the range of the row to which a report adds the activity of an hour.
func spanRange(hour, now uint64) abi.Range {
	return abi.Range{Start: spanKey(timeWithin(hour, now) / SpanMs)}
}

// spanReads returns the ten-minute rows that a command changes. They depend on the time, which does not change until
// the command is applied.
func spanReads(of command, now uint64) (ranges []abi.Range) {
	switch of := of.(type) {
	case *batch:
		for i := range of.absorbs {
			for j := range of.absorbs[i].Usage {
				u := &of.absorbs[i].Usage[j]
				ranges = append(ranges, spanRange(u.Day*24+u.Hour, now))
			}
		}
	case *Tally:
		for i := range of.Counts {
			ranges = append(ranges, spanRange(of.Counts[i].Hour, now))
		}
	}
	return ranges
}

// addSpan adds the activity of an hour to the row of the current ten minutes, or to the closest row within that hour.
func (c *call) addSpan(hour uint64, model, keyID string, a *Activity) error {
	at := timeWithin(hour, c.in.NowMs)
	key := spanKey(at / SpanMs)
	var s span
	if row, ok := c.row(key); ok {
		var err error
		if s, err = decodeSpan(row); err != nil {
			return err
		}
	}
	s.minuteOf(at / minuteMs).Plus(&a.Usage)
	activityOf(&s.models, model, maxSpanModels).Plus(a)
	activityOf(&s.keys, keyID, maxSpanKeys).Plus(a)
	c.put(key, abi.EncodeFields(0, 128+128*(len(s.models)+len(s.keys)), s.fields))
	return nil
}

func (s *span) minuteOf(minute uint64) *Usage {
	for i := range s.minutes {
		if s.minutes[i].minute == minute {
			return &s.minutes[i].Usage
		}
	}
	s.minutes = append(s.minutes, spanMinute{minute: minute})
	return &s.minutes[len(s.minutes)-1].Usage
}

// activityIn returns the activity of one model and hour in a batch. Its durations are those of the listed requests
// and the durations that these requests carry. If there are fewer durations than served requests, as in batches of
// older versions, the listed requests represent the others.
func (a *Absorb) activityIn(u *Usage) (of Activity) {
	of.Usage = *u
	of.Usage.Day, of.Usage.Hour, of.Usage.Model, of.Usage.Latency, of.Usage.Path = 0, 0, "", Latency{}, Path{}
	listed := uint64(0)
	for i := range a.Recent {
		r := &a.Recent[i]
		if r.AtMs/calendar.HourMs == u.Day*24+u.Hour {
			of.addUnlisted(r, u)
		}
		if r.timed(u) {
			listed++
			of.noteMock(r)
		}
	}
	missing := max(0, int64(u.Requests-u.Expired-of.Latency.Count()-listed)) // below 0: a late settlement replaces an earlier charge
	if listed == 0 {
		if missing > 0 {
			u.Latency.addTo(&of)
		}
		return of
	}
	each, more := uint64(missing)/listed, uint64(missing)%listed
	for i := range a.Recent {
		r := &a.Recent[i]
		if !r.timed(u) {
			continue
		}
		n := 1 + each
		if more > 0 {
			n, more = n+1, more-1
		}
		of.Latency.Add(r.DurationMs, n)
		if r.FirstMs > 0 {
			of.FirstToken.Add(r.FirstMs, n)
		}
	}
	return of
}

// noteMock records that the built-in provider served the requests. That provider serves all requests of a key or
// none, so one request is enough to know.
func (of *Activity) noteMock(r *Request) {
	if r.Provider == MockProvider {
		of.Usage.Mocked = of.Usage.Requests - of.Usage.Hits
	}
}

// MockProvider is the name of the built-in provider in the list of recent requests. It serves all requests of development keys.
const MockProvider = "mock"

// timed reports whether a listed request's duration counts toward the given usage, which is that of a model in an
// hour.
func (q *Request) timed(u *Usage) bool {
	return q.Model == u.Model && q.Status != 0 && q.AtMs/calendar.HourMs == u.Day*24+u.Hour
}

// fold takes the spans that were read, adds those before the given span to their daily rows, and deletes them. It
// reads the daily rows in a second round.
func (c *call) fold(before uint64) error {
	for _, row := range c.in.Rows {
		name, ok := strings.CutPrefix(row.Key, rowSpans)
		if !ok || abi.Unfixed(name) >= before {
			continue
		}
		day := spanDayKey(abi.Unfixed(name) / DaySpans)
		if c.in.Round == 0 {
			c.out.Ranges = append(c.out.Ranges, abi.Range{Start: day})
			continue
		}
		var sum span
		s, err := decodeSpan(row.Value)
		if old, ok := c.row(day); ok && err == nil {
			sum, err = decodeSpan(old)
		}
		if err != nil {
			return err
		}
		sum.plus(&s)
		c.put(day, abi.EncodeFields(0, 128+128*(len(sum.models)+len(sum.keys)), sum.fields))
		c.delete(row.Key)
	}
	return nil
}

// plus adds the models and keys of o.
func (s *span) plus(o *span) {
	for i := range o.models {
		activityOf(&s.models, o.models[i].Name, maxSpanModels).Plus(&o.models[i].Activity)
	}
	for i := range o.keys {
		activityOf(&s.keys, o.keys[i].Name, maxSpanKeys).Plus(&o.keys[i].Activity)
	}
}
