// Package lease is the isolate's side of a lease: the pinned entry of one key. Exchanges use the entry to admit
// requests, and leave their settlements in it. One of them, the keeper, reports these to the key's meter and renews
// the lease. The meter's side is in package keymeter. An entry is a value: each step reads it, changes a copy and writes
// that back.
package lease

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

const (
	// ReportMs is the interval of reports.
	ReportMs = 500
	// KeepMs is how long a host must keep an unchanged entry. It is longer than any request.
	KeepMs = 30 * 60_000
	// MarkMs is how long a host must keep an unchanged entry without a lease.
	MarkMs = 4_000

	format = 1
	// hotMs is how close together two requests of the key must call the meter. If they do, an exchange asks for a
	// lease.
	hotMs = 2_000
	// maxRequests and maxBytes keep an entry below 64 KiB. Both include unconfirmed requests and settles.
	maxRequests = 200
	maxBytes    = 40 << 10
	// requestBytes is the approximate size of a request without its settle.
	requestBytes = 96
	// lowAmounts is the number of reservations that a lease's budget should cover after a renewal.
	lowAmounts = 16
	// leanAmounts is the number of reservations below which the budget of a renewed lease is little. The meter then
	// has little left, too, and only a request that asks makes it call the Ledger.
	leanAmounts = 48
	// renewAt is the part of a lease's admissions and budget that is still free when the lease is renewed.
	renewAt = 4
	// reportAt is the number of ended requests that triggers a report before the end of the interval.
	reportAt = 64
	// stepBackMs is how far a step's time may be before that of the previous step. Hosts run steps in parallel, so
	// the times may be slightly out of order. If the clock goes back further, the lease ends.
	stepBackMs = 100
	// deniedMs is the pause after the meter refused to lend.
	deniedMs = 2_000
	// dutyMs is how long an exchange stays the keeper. Platforms stop work 30 s after a response
	// (developers.cloudflare.com/workers/runtime-apis/context: waitUntil).
	dutyMs = 15_000
	// replyMs is how long a command for a lease counts as under way. Its reply is lost if it takes longer.
	replyMs = 1_000
	// askMs is how long an exchange may wait for the reply to its admission before another exchange closes the lease.
	askMs = 10_000
	// absentMs is how late a keeper may wake before it is presumed dead.
	absentMs = 1_500
)

// Entry is the content of a pinned entry. The zero value is an empty entry.
type Entry struct {
	lastMs   uint64 // of the last change
	markMs   uint64 // when a request last called the meter for admission
	deniedMs uint64 // when the meter last refused to lend

	id         uint64 // of the lease; 0: none
	version    uint64 // version of the key record under which the lease was granted
	endMs      uint64 // 0: not granted, or ended
	requests   uint64 // lent in total
	taken      uint64
	amountPico int64  // lent in total
	usedPico   int64  // reserved, registered or spent
	typical    int64  // reservation of the last request
	freshPico  int64  // free budget at the last reply that lent
	fresh      uint64 // free admissions at that time
	lean       bool   // the last report has brought little budget, and nobody has asked since
	askedMs    uint64 // when a request that calls the meter asked for the lease or for more; 0: no reply is outstanding
	slots      uint64
	windows    []keymeter.Window
	seen       uint64 // admissions already used when the windows were received
	closing    bool   // the lease is no longer used
	reclose    bool   // the meter has since extended the lease, perhaps after its close
	seq        uint64 // of the last report
	recent     bool   // the last report was sent before the end of the current interval
	naps       uint64 // intervals that the keeper slept while a report was in flight
	woken      uint64 // admissions used when the keeper last woke

	open   []*keymeter.Leased // requests of the lease that are in progress and not yet reported; an element does not change
	done   done               // requests of the lease that have ended
	ended  [][]byte           // settles of registered requests, not yet reported
	flight flight

	tally tally

	keeper  uint64 // 0: none
	sinceMs uint64 // start of its duty
	wakesMs uint64 // when it wakes next

	wentBack bool // the clock has gone back since the entry was decoded or copied
	before   room // when the entry was decoded or copied
}

// flight is the report that the meter has not confirmed yet.
type flight struct {
	number  uint64 // distinguishes the report from earlier ones, even those of other leases; it only increases
	failed  bool   // the last call failed
	sentMs  uint64 // when it was last sent
	command []byte // empty: none
	open    uint64 // requests in progress
	count   uint64 // number of requests and settles
}

func (r *flight) fields(f *abi.Fields) {
	f.Uint(&r.number)
	f.Bool(&r.failed)
	f.Uint(&r.sentMs)
	f.Bytes(&r.command)
	f.Uint(&r.open)
	f.Uint(&r.count)
}

// Sending identifies one transmission of a report.
type Sending struct{ Number, Ms uint64 }

// Fields lists the fields of a transmission.
func (s *Sending) Fields(f *abi.Fields) {
	f.Uint(&s.Number)
	f.Uint(&s.Ms)
}

// Decode decodes an entry. A malformed entry or one of an older version decodes as empty.
func Decode(data []byte) *Entry {
	e := &Entry{}
	if len(data) > 0 && abi.DecodeFields(data, e.fields) != nil {
		e = &Entry{}
	}
	e.before = e.room()
	return e
}

// KeepMs returns how long the host must keep the entry, or 0 if the entry is empty.
func (e *Entry) KeepMs() uint64 {
	switch {
	case e.Held():
		return KeepMs
	case e.tally.refusals > 0: // some may belong to the current minute
		return minuteMs
	case e.markMs == 0 && e.deniedMs == 0:
		return 0
	}
	return MarkMs
}

// Encode encodes the entry. An empty entry becomes nil. keepMs is how long the host must keep it.
func (e *Entry) Encode() (data []byte, keepMs uint64) {
	if keepMs = e.KeepMs(); keepMs == 0 {
		return nil, 0
	}
	size := 192
	if e.Held() {
		size += 192*(len(e.open)+len(e.ended)) + e.done.bytes + len(e.flight.command) + e.tally.size()
	}
	return abi.EncodeFields(0, size, e.fields), keepMs
}

// Copy returns an entry that a step can change while others read e.
func (e *Entry) Copy() *Entry {
	c := *e
	c.wentBack, c.before = false, e.room()
	c.open, c.ended = slices.Clone(e.open), slices.Clip(e.ended)
	c.tally.counts, c.tally.records = slices.Clone(e.tally.counts), slices.Clip(e.tally.records)
	return &c
}

func (e *Entry) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&e.lastMs)
	f.Uint(&e.markMs)
	f.Uint(&e.deniedMs)
	if f.Uint(&e.id); e.id == 0 && !f.More() {
		return
	}
	f.Uint(&e.version)
	f.Uint(&e.endMs)
	f.Uint(&e.requests)
	f.Uint(&e.taken)
	f.Int(&e.amountPico)
	f.Int(&e.usedPico)
	f.Int(&e.typical)
	f.Uint(&e.slots)
	abi.List(f, &e.windows, keymeter.WindowFields)
	f.Uint(&e.seen)
	f.Uint(&e.fresh)
	f.Int(&e.freshPico)
	f.Uint(&e.askedMs)
	f.Flags(&e.closing, &e.reclose, &e.lean)
	f.Uint(&e.seq)
	f.Bool(&e.recent)
	f.Uint(&e.naps)
	f.Uint(&e.woken)
	abi.List(f, &e.open, openFields)
	e.done.fields(f)
	abi.List(f, &e.ended, (*abi.Fields).Bytes)
	e.flight.fields(f)
	f.Uint(&e.keeper)
	f.Uint(&e.sinceMs)
	f.Uint(&e.wakesMs)
	if f.Group(e.tally.source != 0) {
		e.tally.fields(f)
	}
}

// pending reports whether there is anything that the meter has not confirmed yet.
func (e *Entry) pending() bool {
	return len(e.open)+len(e.ended)+len(e.flight.command) > 0 || e.done.count > 0
}

// forMeter reports whether the entry has a lease, or something to report to the meter. The keeper then wakes at each
// interval of reports.
func (e *Entry) forMeter() bool { return e.id != 0 || e.pending() }

// Held reports whether the entry has a lease, or something to report to the meter or the Ledger.
func (e *Entry) Held() bool { return e.forMeter() || e.tally.held() }

// tick moves the entry to now. If the clock went back, replies to earlier commands no longer say when the lease ends.
// tick then ends the lease permanently and returns false.
func (e *Entry) tick(now uint64) bool {
	ok := now+stepBackMs >= e.lastMs
	if !ok {
		e.endMs, e.closing, e.lastMs, e.markMs, e.deniedMs, e.askedMs, e.flight.sentMs = 0, e.id != 0, now, 0, 0, 0, 0
		e.wakesMs, e.sinceMs = min(e.wakesMs, now), min(e.sinceMs, now)
		e.wentBack = true
	}
	e.lastMs = max(e.lastMs, now)
	return ok
}

// WentBack reports whether the clock has gone back since the entry was decoded or copied. The entry must then be
// written, even if nothing else has changed. Otherwise the lease would be used again once the clock has caught up.
func (e *Entry) WentBack() bool { return e.wentBack }

// Request is a request that asks for admission.
type Request struct {
	ID         string
	Version    uint64 // of the key record
	Model      string
	AmountPico int64
	LifetimeMs uint64
	Settle     *keymeter.Settle // set if the request is complete at its admission; nil otherwise
}

// Take admits a request with the lease. It returns false if the meter has to decide.
func (e *Entry) Take(now uint64, q *Request) bool {
	ok := e.tick(now)
	e.typical = q.AmountPico
	switch {
	case !ok, !e.live(), e.version != q.Version, e.taken >= e.requests:
		return false
	case e.freePico() < q.AmountPico, q.AmountPico > 0 && e.short(), e.inProgress() >= e.slots, e.full():
		return false
	}
	e.taken++
	e.usedPico = money.Add(e.usedPico, q.AmountPico)
	l := keymeter.Leased{RequestID: q.ID, AdmittedMs: e.lastMs, AmountPico: q.AmountPico, LifetimeMs: q.LifetimeMs, Model: q.Model}
	if q.Settle != nil {
		l.Settle = q.Settle.Encode()
		e.done.add(&l)
		return true
	}
	e.open = append(e.open, &l)
	return true
}

// live reports whether the lease may be used.
func (e *Entry) live() bool { return e.id != 0 && e.endMs > e.lastMs }

// freePico returns the part of the lease's budget that no request has reserved or spent.
func (e *Entry) freePico() int64 { return e.amountPico - e.usedPico }

// low reports whether the lease's admissions or its budget will soon be used up. A report then renews the lease. The
// meter lends as it can, so the bound depends on the last reply.
func (e *Entry) low() bool {
	return e.live() && (renewAt*(e.requests-e.taken) < e.fresh || renewAt*e.freePico() < e.freshPico)
}

// short reports whether the meter's slice may be too small for the lease, because the last report has not brought
// enough. One request then asks the meter for more. Unlike a report, it calls the Ledger if the meter lacks budget. The
// others continue to use the lease.
func (e *Entry) short() bool {
	return !e.underway() && (e.lean || e.freePico() < lowAmounts*e.typical)
}

// underway reports whether a command for the lease is under way, and its reply may still arrive.
func (e *Entry) underway() bool {
	return e.asking() || e.InFlight() && e.lastMs < e.flight.sentMs+replyMs
}

func (e *Entry) asking() bool { return e.askedMs != 0 && e.lastMs < e.askedMs+replyMs }

// inProgress returns the number of requests that are in progress and not registered at the meter.
func (e *Entry) inProgress() uint64 { return uint64(len(e.open)) + e.flight.open }

// full reports whether the entry accepts no more requests.
func (e *Entry) full() bool {
	if len(e.open)+len(e.ended)+int(e.done.count+e.flight.count) >= maxRequests {
		return true
	}
	size := len(e.flight.command) + e.done.bytes + requestBytes*len(e.open)
	for _, s := range e.ended {
		size += len(s)
	}
	return size >= maxBytes
}

// Windows returns the state of the limits, for the response to a request that the lease admitted.
func (e *Entry) Windows() []keymeter.Window {
	list := slices.Clone(e.windows)
	for i := range list {
		list[i].Remaining -= min(list[i].Remaining, e.taken-e.seen)
	}
	return list
}

// find returns the index of a request of the lease that has not been reported, or -1.
func (e *Entry) find(requestID string) int {
	return slices.IndexFunc(e.open, func(l *keymeter.Leased) bool { return l.RequestID == requestID })
}

// Settle stores a settlement in the entry. It returns false if there is no room. The settlement must then be sent
// directly to the meter, which has the request's reservation.
func (e *Entry) Settle(now uint64, s *keymeter.Settle) bool {
	e.tick(now)
	i := e.find(s.RequestID)
	if i < 0 {
		if !e.forMeter() || e.full() && !e.inFlight(s.RequestID) {
			// There may be no entry, and no room for a new one in the host. Or there is only a tally, for which a keeper
			// may sleep so long that the platform stops it before it reports the settlement.
			return false
		}
		e.ended = append(e.ended, s.Encode())
		return true
	}
	l := *e.open[i]
	cost := s.CostPico
	for j := range s.Attempts {
		cost = money.Add(cost, s.Attempts[j].CostPico)
	}
	e.usedPico = money.Add(e.usedPico-l.AmountPico, cost)
	l.AmountPico, l.Settle = cost, s.Encode()
	e.open = slices.Delete(e.open, i, i+1)
	e.done.add(&l)
	return true
}
