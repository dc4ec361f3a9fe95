package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

const format = 1

// flushDelayMs is how long usage may wait for more before it is reported. Whoever reads the usage flushes
// first, so this only bounds how much one isolate's death can leave waiting for the next alarm.
const flushDelayMs = 5000

// meter is the object's one hot row, "h": everything that an admission or a settle touches.
type meter struct {
	status       doc.Status
	record       doc.Record
	lastMs       uint64 // the largest time seen
	lastUsedMs   uint64
	ticks        []tick // admissions of the last second, oldest first
	day          uint64 // the largest seen
	dayCount     uint64
	slice        slice
	oldSlice     slice // last month's, while reservations made on it are open
	grantSeq     uint64
	reservations []reservation
	noted        []uint64       // the last admissions that left no reservation, by the sum of their request ids
	usage        []ledger.Usage // not reported yet
	flushMs      uint64         // when to report it; 0: nothing to report
	outSeq       uint64         // of the last batch in the outbox
	cleanMs      uint64         // when the next remembered row expires; 0: none
}

// tick is a number of admissions in one millisecond.
type tick struct{ ms, count uint64 }

// slice is this key's part of a month's budget: granted >= spent + reserved, unless a request cost more
// than it had reserved.
type slice struct {
	month                    uint64
	live                     bool // granted, perhaps 0
	granted, spent, reserved int64
}

type reservation struct {
	id         string
	admittedMs uint64
	expiresMs  uint64
	month      uint64
	amountPico int64
	model      string
	idem       string
}

func (m *meter) encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 512+64*len(m.reservations))}
	w.Uint(format)
	w.Uint(uint64(m.status))
	w.Bytes(m.record.Encode())
	w.Uint(m.lastMs)
	w.Uint(m.lastUsedMs)
	w.Uint(uint64(len(m.ticks)))
	for _, t := range m.ticks {
		w.Uint(t.ms)
		w.Uint(t.count)
	}
	w.Uint(m.day)
	w.Uint(m.dayCount)
	m.slice.encode(&w)
	m.oldSlice.encode(&w)
	w.Uint(m.grantSeq)
	w.Uint(uint64(len(m.reservations)))
	for i := range m.reservations {
		r := &m.reservations[i]
		w.String(r.id)
		w.Uint(r.admittedMs)
		w.Uint(r.expiresMs)
		w.Uint(r.month)
		w.Int(r.amountPico)
		w.String(r.model)
		w.String(r.idem)
	}
	w.Uint(uint64(len(m.noted)))
	for _, sum := range m.noted {
		w.Uint(sum)
	}
	w.Uint(uint64(len(m.usage)))
	for i := range m.usage {
		ledger.EncodeUsage(&w, &m.usage[i])
	}
	w.Uint(m.flushMs)
	w.Uint(m.outSeq)
	w.Uint(m.cleanMs)
	return w.Buf
}

func (s *slice) encode(w *abi.Writer) {
	w.Uint(s.month)
	w.Bool(s.live)
	w.Int(s.granted)
	w.Int(s.spent)
	w.Int(s.reserved)
}

func decodeSlice(r *abi.Reader) slice { return slice{r.Uint(), r.Bool(), r.Int(), r.Int(), r.Int()} }

func decodeMeter(data []byte) (*meter, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return nil, abi.ErrMalformed
	}
	m := &meter{status: doc.Status(r.Uint())}
	record, err := doc.DecodeRecord(r.Bytes())
	if err != nil {
		return nil, err
	}
	m.record, m.lastMs, m.lastUsedMs = record, r.Uint(), r.Uint()
	for n := r.Count(); n > 0; n-- {
		m.ticks = append(m.ticks, tick{r.Uint(), r.Uint()})
	}
	m.day, m.dayCount = r.Uint(), r.Uint()
	m.slice, m.oldSlice, m.grantSeq = decodeSlice(&r), decodeSlice(&r), r.Uint()
	n := r.Count()
	m.reservations = make([]reservation, 0, n+1)
	for ; n > 0; n-- {
		m.reservations = append(m.reservations, reservation{
			r.String(), r.Uint(), r.Uint(), r.Uint(), r.Int(), r.String(), r.String(),
		})
	}
	for n := r.Count(); n > 0; n-- {
		m.noted = append(m.noted, r.Uint())
	}
	for n := r.Count(); n > 0; n-- {
		m.usage = append(m.usage, ledger.DecodeUsage(&r))
	}
	m.flushMs, m.outSeq, m.cleanMs = r.Uint(), r.Uint(), r.Uint()
	return m, r.End()
}

// advance brings the meter to now. If the clock went back, the day and the month stay the largest seen, and
// the one-second window starts full: nothing is admitted twice because an hour comes twice. That must be
// stored, or the window would stay full until the clock is where it was.
func (m *meter) advance(now uint64, limits config.Limits) (jumped bool) {
	if jumped = now < m.lastMs; jumped {
		m.ticks = append(m.ticks[:0], tick{now, limits.PerSecond})
	}
	m.lastMs = now
	for len(m.ticks) > 0 && m.ticks[0].ms+calendar.SecondMs <= now {
		m.ticks = m.ticks[1:]
	}
	if day := calendar.Day(now); day > m.day {
		m.day, m.dayCount = day, 0
	}
	m.turnMonth(calendar.Month(m.day))
	return jumped
}

// turnMonth ends a month's slice. What was granted and not spent lapses with the Ledger's month.
func (m *meter) turnMonth(month uint64) {
	if month <= m.slice.month {
		return
	}
	m.oldSlice, m.slice = m.slice, slice{month: month}
}

func (m *meter) sliceOf(month uint64) *slice {
	switch month {
	case m.slice.month:
		return &m.slice
	case m.oldSlice.month:
		return &m.oldSlice
	}
	return &slice{} // two months ago: nothing holds it to account any more
}

// windows is the state of the limits, the second before the day.
func (m *meter) windows(limits config.Limits) []Window {
	var windows []Window
	if limits.PerSecond > 0 {
		w := Window{WindowMs: calendar.SecondMs, Limit: limits.PerSecond}
		used := uint64(0)
		for _, t := range m.ticks {
			used += t.count
		}
		if used > 0 {
			w.ResetMs = m.ticks[0].ms + calendar.SecondMs - m.lastMs
		}
		w.Remaining = limits.PerSecond - min(used, limits.PerSecond)
		windows = append(windows, w)
	}
	if limits.PerDay > 0 {
		w := Window{WindowMs: calendar.DayMs, Limit: limits.PerDay, Remaining: limits.PerDay - min(m.dayCount, limits.PerDay)}
		w.ResetMs = (m.day+1)*calendar.DayMs - m.lastMs
		windows = append(windows, w)
	}
	return windows
}

// count books one admission against the limits.
func (m *meter) count(limits config.Limits) {
	m.dayCount++
	m.lastUsedMs = max(m.lastUsedMs, m.lastMs)
	if limits.PerSecond == 0 {
		return
	}
	if last := len(m.ticks) - 1; last >= 0 && m.ticks[last].ms == m.lastMs {
		m.ticks[last].count++
		return
	}
	m.ticks = append(m.ticks, tick{m.lastMs, 1})
}

// maxNoted is how many admissions without a reservation a meter knows again. A lost reply makes the host
// repeat the call at once: few others come between.
const maxNoted = 16

// note remembers an admission, so that its repetition does not count twice.
func (m *meter) note(requestID string) {
	if len(m.noted) == maxNoted {
		m.noted = m.noted[1:]
	}
	m.noted = append(m.noted, sum(requestID))
}

func (m *meter) knows(requestID string) bool {
	for _, n := range m.noted {
		if n == sum(requestID) {
			return true
		}
	}
	return false
}

// sum is FNV-1a. Request ids are random: no caller can choose two with one sum.
func sum(requestID string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(requestID); i++ {
		h = (h ^ uint64(requestID[i])) * 1099511628211
	}
	return h
}

// use is the unreported usage of a day and model.
func (m *meter) use(day uint64, model string) *ledger.Usage {
	if m.flushMs == 0 {
		m.flushMs = m.lastMs + flushDelayMs
	}
	for i := range m.usage {
		if m.usage[i].Day == day && m.usage[i].Model == model {
			return &m.usage[i]
		}
	}
	m.usage = append(m.usage, ledger.Usage{Day: day, Model: model})
	return &m.usage[len(m.usage)-1]
}

// take removes the reservation with an id.
func (m *meter) take(id string) (reservation, bool) {
	for i, r := range m.reservations {
		if r.id == id {
			m.reservations = append(m.reservations[:i], m.reservations[i+1:]...)
			return r, true
		}
	}
	return reservation{}, false
}

// alarmMs is when something is due next.
func (m *meter) alarmMs() uint64 {
	next := m.flushMs
	for i := range m.reservations {
		next = earlier(next, m.reservations[i].expiresMs)
	}
	return earlier(next, m.cleanMs)
}

func earlier(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// cut takes the unreported usage out as one numbered batch.
func (m *meter) cut(key string, returned int64, closed bool) []byte {
	m.outSeq++
	batch := ledger.Absorb{
		Key: key, Seq: m.outSeq, Month: m.slice.month, ReturnedPico: returned, Closed: closed, GrantSeq: m.grantSeq,
		LastUsedMs: m.lastUsedMs, Usage: m.usage,
	}
	m.usage, m.flushMs = nil, 0
	return batch.Encode()
}
