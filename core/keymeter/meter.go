package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// format is the format version of rows other than "h".
const format = 1

// meterFormat is the format version of row "h". Version 1 lacked recent requests, tokens, and the hours and latencies
// of usage. Version 2 had the number of the last grant instead of the epoch. Version 3 lacked violations, and version
// 4 lacked leases.
const meterFormat = 5

// recalledFormat is the version of a row with recalledMs.
const recalledFormat = 6

// promptCacheFormat is the version of a row with prompt cache figures.
const promptCacheFormat = 7

// attemptsFormat is the version of a row with failed attempts.
const attemptsFormat = 8

// treeFormat is the version of a row with levels above the project.
const treeFormat = 9

// meter is row "h". Every admission and every settlement reads and writes it.
type meter struct {
	status         doc.Status
	record         doc.Record
	recordRow      []byte // the encoded record; nil: it is new
	lastMs         uint64 // time of the last command
	lastUsedMs     uint64
	ticks          []tick       // admissions of the last second by millisecond, oldest first
	tokens         []tick       // tokens settled in the last minute by second, oldest first
	day            uint64       // the latest day seen
	dayCount       uint64       // admissions on that day
	chain          budget.Chain // one level: the project
	reservations   []openReservation
	admittedHashes []uint64       // the last admissions without an open reservation, as hashes of their request IDs
	usage          []ledger.Usage // not reported yet
	recent         recentRequests // not reported yet; only the newest maxRecent
	violations     violations
	leases         []lease
	restUntilMs    uint64            // the meter does not lend before this time; 0: it may lend
	flushMs        uint64            // when usage, recent and violations are to be reported; 0: nothing to report
	quietMs        uint64            // while there is nothing to report: a small report waits for this time; 0: it need not wait
	outSeq         uint64            // number of the last batch
	returns        returns           // to the Ledgers above the project
	travelling     []ledger.Returned // those in the next batch; not stored
	crossed        crossed
	nextForgetMs   uint64 // when the next row is to be deleted; 0: none
	size           int    // of the row that was read
}

// recentRequests stay encoded, because they are only read when a batch is made.
type recentRequests = abi.Encoded[ledger.Request]

// tick counts the admissions in one millisecond, or the tokens in one second.
type tick struct{ ms, count uint64 }

// level returns the meter's state at the project's Ledger.
func (m *meter) level() *budget.Level { return m.chain.Project() }

// slice returns the part of the project's budget that the meter holds.
func (m *meter) slice() *budget.Slice { return &m.level().Slice }

// rowGrowth is the room left for a command's additions to the row. Most commands add less.
const rowGrowth = 512

func (m *meter) encode() []byte {
	return abi.EncodeFields(0, m.size+rowGrowth, m.fields)
}

func newMeter() *meter { return &meter{chain: budget.NewChain()} }

func decodeMeter(data []byte) (*meter, error) {
	m := newMeter()
	m.size = len(data)
	err := abi.DecodeFields(data, m.fields)
	return m, err
}

func (m *meter) fields(f *abi.Fields) {
	version := m.format()
	if f.Uint(&version); version == 0 || version > treeFormat {
		f.Fail()
	}
	abi.Enum(f, &m.status)
	recordFields(f, &m.record, &m.recordRow)
	f.Uint(&m.lastMs)
	f.Uint(&m.lastUsedMs)
	abi.List(f, &m.ticks, tickFields)
	f.Uint(&m.day)
	f.Uint(&m.dayCount)
	sliceFields(f, m.slice())
	sliceFields(f, &m.level().Previous)
	f.Uint(&m.level().Epoch)
	if version < 3 {
		m.level().Epoch = firstEpoch
	}
	reservations := openReservationFields
	if version >= treeFormat {
		reservations = treeReservationFields
	}
	abi.List(f, &m.reservations, reservations)
	abi.List(f, &m.admittedHashes, (*abi.Fields).Uint)
	m.unreportedFields(f, version)
	m.laterFields(f, version)
	if f.Reading() && m.flushMs == 0 && m.hasReport() { // only violations or thresholds, which come later in the row
		m.flushMs, m.quietMs = m.quietMs, 0
	}
}

// laterFields lists the fields from the first scheduled time on, most of which older versions do not have.
func (m *meter) laterFields(f *abi.Fields, version uint64) {
	f.Uint(m.nextReport())
	f.Uint(&m.outSeq)
	f.Uint(&m.nextForgetMs)
	if version >= 4 {
		m.violations.fields(f)
	}
	if version >= 5 {
		abi.List(f, &m.leases, leaseFields(version))
		f.Uint(&m.restUntilMs)
	}
	if version >= recalledFormat {
		f.Uint(&m.level().RecalledMs)
	}
	if version >= treeFormat {
		m.treeFields(f)
	}
	if version >= promptCacheFormat {
		ledger.Extras(f, len(m.usage), func(i int) *ledger.Usage { return &m.usage[i] })
	}
}

// format returns the oldest format that has all fields in use. Rows of older objects keep their format until they
// need a newer one.
func (m *meter) format() uint64 {
	if m.chain.Slots > 0 || m.record.Path > 0 {
		return treeFormat
	}
	cached := false
	for i := range m.usage {
		if m.usage[i].Attempts.Used() {
			return attemptsFormat
		}
		cached = cached || m.usage[i].PromptCache.Used()
	}
	switch {
	case cached:
		return promptCacheFormat
	case m.level().RecalledMs != 0:
		return recalledFormat
	}
	return meterFormat
}

func (m *meter) unreportedFields(f *abi.Fields, version uint64) {
	if version == 1 {
		abi.List(f, &m.usage, ledger.OldUsageFields)
		return
	}
	abi.List(f, &m.usage, ledger.UsageFields)
	m.recent.Fields(f, ledger.RequestFields)
	abi.List(f, &m.tokens, tickFields)
}

// firstEpoch is the epoch of a meter whose row was stored before epochs existed. The Ledger's row for that meter has
// epoch 1. The Ledger therefore adopts the slice that the meter reports, and the meter ignores grants of epoch 1 that
// are still in flight.
const firstEpoch = 2

func tickFields(f *abi.Fields, t *tick) {
	f.Uint(&t.ms)
	f.Uint(&t.count)
}

// advance moves the meter to now. If the clock went back (jumped), it keeps the latest day and period seen, starts
// with a full one-second window, and restamps the tokens of the last minute to now. A clock step therefore cannot
// admit requests twice. The caller must then store the meter. Otherwise the windows would stay full until the clock
// catches up.
func (m *meter) advance(now uint64, limits config.Limits) (jumped bool) {
	if jumped = now < m.lastMs; jumped {
		m.ticks = append(m.ticks[:0], tick{now, limits.PerSecond})
		m.restampTokens(now)
	}
	m.lastMs, m.level().RecalledMs = now, min(m.level().RecalledMs, now)
	if m.quietMs <= now || m.quietMs > now+sparseMs { // in the second case, the clock went back
		m.quietMs = 0
	}
	m.endLeases(jumped, config.MaxLeaseMs)
	for len(m.ticks) > 0 && m.ticks[0].ms+calendar.SecondMs <= now {
		m.ticks = m.ticks[1:]
	}
	for len(m.tokens) > 0 && m.tokens[0].ms+minuteMs <= now {
		m.tokens = m.tokens[1:]
	}
	if day := calendar.Day(now); day > m.day {
		m.day, m.dayCount = day, 0
	}
	m.chain.Advance(now, m.periods()...)
	return jumped
}

// restampTokens moves all tokens of the window to the current second.
func (m *meter) restampTokens(now uint64) {
	total := uint64(0)
	for _, t := range m.tokens {
		total += t.count
	}
	m.tokens = m.tokens[:0]
	if total > 0 {
		m.tokens = append(m.tokens, tick{endOfSecond(now), total})
	}
}

// endOfSecond rounds a time up to a full second. Tokens stamped with it stay in the window for at least a minute.
func endOfSecond(ms uint64) uint64 {
	return (ms + calendar.SecondMs - 1) / calendar.SecondMs * calendar.SecondMs
}

// minuteMs is the window of the token limit.
const minuteMs = 60 * calendar.SecondMs

// windows returns the state of all limits that are set, in this order: requests per second, requests per day, tokens.
func (m *meter) windows(limits config.Limits) []Window {
	var windows []Window
	if limits.PerSecond > 0 {
		w := Window{WindowMs: calendar.SecondMs, Limit: limits.PerSecond}
		used := m.usedInSecond()
		switch {
		case len(m.ticks) > 0:
			w.ResetMs = m.ticks[0].ms + calendar.SecondMs - m.lastMs
		case used > 0:
			w.ResetMs = calendar.SecondMs // lent
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

// tokenWindow returns the state of the token limit. A request's tokens count when it is settled. One request can
// therefore exceed the limit. Later requests are rejected until the window has room.
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

// countTokens adds settled tokens to the token window, in the current second.
func (m *meter) countTokens(n, limit uint64) {
	if limit == 0 || n == 0 {
		return
	}
	m.tokens = addTick(m.tokens, tick{endOfSecond(m.lastMs), n})
}

// addTick appends a tick, or adds it to the last one if that has the same time.
func addTick(ticks []tick, t tick) []tick {
	if n := len(ticks); n > 0 && ticks[n-1].ms == t.ms {
		ticks[n-1].count += t.count
		return ticks
	}
	return append(ticks, t)
}

// countAdmission counts one admission in the request windows.
func (m *meter) countAdmission(limits config.Limits) {
	m.dayCount++
	m.lastUsedMs = max(m.lastUsedMs, m.lastMs)
	if limits.PerSecond == 0 {
		return
	}
	m.ticks = addTick(m.ticks, tick{m.lastMs, 1})
}

// maxRecent is the number of newest requests that a batch lists individually. These requests also carry the durations
// of the others.
const maxRecent = 32

func (m *meter) addRecent(q ledger.Request) {
	m.recent.Append(maxRecent, &q, ledger.RequestFields, (*ledger.Request).TakePlace)
	m.reportWithin(m.usageWithin())
}

// usageFor returns the unreported usage of a model and a path in the hour that contains ms.
func (m *meter) usageFor(ms uint64, model string, path ledger.Path) *ledger.Usage {
	day, hour := calendar.Day(ms), calendar.Hour(ms)
	m.reportWithin(m.usageWithin())
	for i := range m.usage {
		if u := &m.usage[i]; u.Day == day && u.Hour == hour && u.Model == model && u.Path == path {
			return &m.usage[i]
		}
	}
	m.usage = append(m.usage, ledger.Usage{Day: day, Hour: hour, Model: model, Path: path})
	return &m.usage[len(m.usage)-1]
}

// alarmMs returns the time of the next scheduled work: a report, an expiry or a deletion. It returns 0 if there is
// none.
func (m *meter) alarmMs() uint64 {
	next := minNonZero(m.flushMs, m.returns.dueMs)
	for i := range m.reservations {
		next = minNonZero(next, m.reservations[i].expiresMs)
	}
	for i := range m.leases {
		next = minNonZero(next, m.leases[i].bookMs())
	}
	return minNonZero(next, m.nextForgetMs)
}

// minNonZero returns the smaller of two limits or times, where 0 means none.
func minNonZero(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
