package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

const format = 1

// formatField is the number that a row starts with.
func formatField(f *abi.Fields) {
	version := uint64(format)
	if f.Uint(&version); version != format {
		f.Fail()
	}
}

// meterFormat is of the row "h": 1 had no recent requests and no tokens, and usage without hours and latencies;
// 2 had the number of the last grant in place of the epoch.
const meterFormat = 3

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
	tokens       []tick // tokens that were settled in the last minute, by the second
	day          uint64 // the largest seen
	dayCount     uint64
	slice        slice
	oldSlice     slice  // last period's, while reservations made on it are open
	epoch        uint64 // grows whenever part of the slice is given back: older grants are void
	reservations []reservation
	noted        []uint64         // the last admissions whose reservation is not open, by the sum of their request ids
	usage        []ledger.Usage   // not reported yet
	recent       []ledger.Request // likewise, the newest of them
	flushMs      uint64           // when to report it; 0: nothing to report
	outSeq       uint64           // of the last batch in the outbox
	cleanMs      uint64           // when the next remembered row expires; 0: none
}

// tick is a number of admissions in one millisecond, or of tokens in one second.
type tick struct{ ms, count uint64 }

// slice is this key's part of a period's budget: granted >= spent + reserved, unless a request cost more
// than it had reserved.
type slice struct {
	period                   calendar.Period
	live                     bool // granted, perhaps 0
	granted, spent, reserved int64
}

type reservation struct {
	id         string
	admittedMs uint64
	expiresMs  uint64
	period     calendar.Period
	amountPico int64
	model      string
	idem       string
}

// free is what a request can reserve. A request that cost more than it had reserved makes it negative.
func (s *slice) free() int64 { return s.granted - money.Add(s.spent, s.reserved) }

func (m *meter) encode() []byte {
	return encode(0, m, 512+64*len(m.reservations)+128*len(m.recent))
}

func decodeMeter(data []byte) (*meter, error) {
	m := new(meter)
	return m, decode(data, m)
}

func (m *meter) fields(f *abi.Fields) {
	version := uint64(meterFormat)
	if f.Uint(&version); version == 0 || version > meterFormat {
		f.Fail()
	}
	abi.Enum(f, &m.status)
	recordFields(f, &m.record)
	f.Uint(&m.lastMs)
	f.Uint(&m.lastUsedMs)
	abi.List(f, &m.ticks, tickFields)
	f.Uint(&m.day)
	f.Uint(&m.dayCount)
	m.slice.fields(f)
	m.oldSlice.fields(f)
	f.Uint(&m.epoch)
	if version < 3 {
		m.epoch = firstEpoch
	}
	abi.List(f, &m.reservations, reservationFields)
	abi.List(f, &m.noted, (*abi.Fields).Uint)
	if version == 1 {
		abi.List(f, &m.usage, ledger.OldUsageFields)
	} else {
		abi.List(f, &m.usage, ledger.UsageFields)
		abi.List(f, &m.recent, ledger.RequestFields)
		abi.List(f, &m.tokens, tickFields)
	}
	f.Uint(&m.flushMs)
	f.Uint(&m.outSeq)
	f.Uint(&m.cleanMs)
}

// firstEpoch is of a meter from before there were epochs. To the Ledger it was in the epoch before, so that it
// takes over what the meter holds and drops what was on its way.
const firstEpoch = 2

func tickFields(f *abi.Fields, t *tick) {
	f.Uint(&t.ms)
	f.Uint(&t.count)
}

func (s *slice) fields(f *abi.Fields) {
	ledger.PeriodFields(f, &s.period)
	f.Bool(&s.live)
	f.Int(&s.granted)
	f.Int(&s.spent)
	f.Int(&s.reserved)
}

func reservationFields(f *abi.Fields, r *reservation) {
	f.String(&r.id)
	f.Uint(&r.admittedMs)
	f.Uint(&r.expiresMs)
	ledger.PeriodFields(f, &r.period)
	f.Int(&r.amountPico)
	f.String(&r.model)
	f.String(&r.idem)
}

// advance brings the meter to now. If the clock went back, the day and the period stay the largest seen, the
// one-second window starts full, and the tokens of the last minute are of this second: nothing is admitted
// twice because an hour comes twice. That must be stored, or the windows would stay full until the clock is
// where it was.
func (m *meter) advance(now uint64, limits config.Limits) (jumped bool) {
	if jumped = now < m.lastMs; jumped {
		m.ticks = append(m.ticks[:0], tick{now, limits.PerSecond})
		m.restampTokens(now)
	}
	m.lastMs = now
	for len(m.ticks) > 0 && m.ticks[0].ms+calendar.SecondMs <= now {
		m.ticks = m.ticks[1:]
	}
	for len(m.tokens) > 0 && m.tokens[0].ms+minuteMs <= now {
		m.tokens = m.tokens[1:]
	}
	if day := calendar.Day(now); day > m.day {
		m.day, m.dayCount = day, 0
	}
	m.turn(m.record.Period(m.day))
	return jumped
}

// restampTokens makes all counted tokens those of one second.
func (m *meter) restampTokens(now uint64) {
	all := uint64(0)
	for _, t := range m.tokens {
		all += t.count
	}
	m.tokens = m.tokens[:0]
	if all > 0 {
		m.tokens = append(m.tokens, tick{secondOf(now), all})
	}
}

// secondOf is when the second of a moment ends, so that its tokens count for a minute at least.
func secondOf(ms uint64) uint64 {
	return (ms + calendar.SecondMs - 1) / calendar.SecondMs * calendar.SecondMs
}

// minuteMs is the window of a limit on tokens.
const minuteMs = 60 * calendar.SecondMs

// turn ends a period's slice. What was granted and not spent lapses with the Ledger's period.
func (m *meter) turn(period calendar.Period) {
	if period <= m.slice.period {
		return
	}
	m.oldSlice, m.slice = m.slice, slice{period: period}
}

func (m *meter) sliceOf(period calendar.Period) *slice {
	switch period {
	case m.slice.period:
		return &m.slice
	case m.oldSlice.period:
		return &m.oldSlice
	}
	return &slice{} // two periods ago: nothing holds it to account any more
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
	if limits.TokensPerMinute > 0 {
		windows = append(windows, m.tokenWindow(limits.TokensPerMinute))
	}
	return windows
}

// tokenWindow is the state of the limit on tokens. Those of a request count when it is settled: so one
// request can go over the limit, and what comes after it waits.
func (m *meter) tokenWindow(limit uint64) Window {
	w := Window{Tokens: true, WindowMs: minuteMs, Limit: limit}
	used := uint64(0)
	for _, t := range m.tokens {
		used += t.count
	}
	w.Remaining = limit - min(used, limit)
	for _, t := range m.tokens {
		w.ResetMs = t.ms + minuteMs - m.lastMs
		if used -= t.count; used < limit {
			break
		}
	}
	return w
}

// countTokens books settled tokens against the limit on them, to the second.
func (m *meter) countTokens(n, limit uint64) {
	if limit == 0 || n == 0 {
		return
	}
	m.tokens = tally(m.tokens, tick{secondOf(m.lastMs), n})
}

// tally adds a tick to those before it.
func tally(ticks []tick, t tick) []tick {
	if n := len(ticks); n > 0 && ticks[n-1].ms == t.ms {
		ticks[n-1].count += t.count
		return ticks
	}
	return append(ticks, t)
}

// count books one admission against the limits.
func (m *meter) count(limits config.Limits) {
	m.dayCount++
	m.lastUsedMs = max(m.lastUsedMs, m.lastMs)
	if limits.PerSecond == 0 {
		return
	}
	m.ticks = tally(m.ticks, tick{m.lastMs, 1})
}

// maxNoted is how many admissions without an open reservation a meter knows again: those that made none, and those
// that were settled. A lost reply makes the host repeat the call at once: few others come between.
const maxNoted = 32

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

// maxRecent is how many requests a batch tells of one by one: of a busy key the newest ones.
const maxRecent = 32

// trace notes a request for the list of recent ones.
func (m *meter) trace(q ledger.Request) {
	m.reportSoon()
	if len(m.recent) == maxRecent {
		m.recent = m.recent[1:]
	}
	m.recent = append(m.recent, q)
}

// use is the unreported usage of a model in the hour of an instant.
func (m *meter) use(ms uint64, model string) *ledger.Usage {
	day, hour := calendar.Day(ms), calendar.Hour(ms)
	m.reportSoon()
	for i := range m.usage {
		if m.usage[i].Day == day && m.usage[i].Hour == hour && m.usage[i].Model == model {
			return &m.usage[i]
		}
	}
	m.usage = append(m.usage, ledger.Usage{Day: day, Hour: hour, Model: model})
	return &m.usage[len(m.usage)-1]
}

// reportSoon sets when the usage is to be reported, unless that is set.
func (m *meter) reportSoon() {
	if m.flushMs == 0 {
		m.flushMs = m.lastMs + flushDelayMs
	}
}

// reservation is the open one with an id, or nil.
func (m *meter) reservation(id string) *reservation {
	for i := range m.reservations {
		if m.reservations[i].id == id {
			return &m.reservations[i]
		}
	}
	return nil
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
		next = smaller(next, m.reservations[i].expiresMs)
	}
	return smaller(next, m.cleanMs)
}

// smaller is the smaller of two limits or times, where 0 is none.
func smaller(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// cut takes the unreported usage out as one numbered batch.
func (m *meter) cut(key string, closed bool) []byte {
	m.outSeq++
	batch := ledger.Absorb{
		Key: key, KeyID: m.record.KeyID, Seq: m.outSeq, Period: m.slice.period, Epoch: m.epoch, HeldPico: m.slice.granted, Closed: closed,
		LastUsedMs: m.lastUsedMs, Usage: m.usage, Recent: m.recent,
	}
	m.usage, m.recent, m.flushMs = nil, nil, 0
	return batch.Encode()
}
