// Package lease is the isolate's side of a lease: the pinned entry of one key. Exchanges admit requests with it, leave
// their settlements in it, and one of them, the keeper, reports them to the key's meter and renews the lease. Package
// keymeter has the meter's side. An entry is a value: a step reads it, changes it and writes it back.
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
	// KeepMs is how long a host must keep an entry that nobody changes: longer than any request.
	KeepMs = 30 * 60_000
	// MarkMs is the same for an entry without a lease.
	MarkMs = 4_000

	format = 1
	// hotMs is the time between two calls for admission within which the key asks for a lease.
	hotMs = 2_000
	// markEveryMs bounds how often the entry of a key without a lease changes.
	markEveryMs = 500
	// maxRequests and maxBytes bound an entry, so that it stays below 64 KiB: its requests and settles, unconfirmed ones
	// included.
	maxRequests = 200
	maxBytes    = 40 << 10
	// requestBytes is about the size of a request without its settle.
	requestBytes = 96
	// lowAmounts is the number of reservations that a lease should cover.
	lowAmounts = 16
	// reportAt is the number of ended requests that are reported before the interval is over.
	reportAt = 64
	// stepBackMs is how far a step's time may be behind that of the last one, because hosts run steps in parallel. A
	// clock that went back further ends the lease.
	stepBackMs = 100
	// deniedMs is the pause after the meter did not lend.
	deniedMs = 2_000
	// duty is how long an exchange stays the keeper. Platforms cut work after a response after 30 s
	// (developers.cloudflare.com/workers/runtime-apis/context: waitUntil).
	dutyMs = 15_000
	// askMs is how long an exchange may wait for the reply to its admission until another one closes the lease.
	askMs = 10_000
	// absentMs is the time after its due date at which a keeper is presumed dead.
	absentMs = 1_500
)

// Entry is the content of a pinned entry. The zero value is an empty one.
type Entry struct {
	lastMs   uint64 // of the last change
	markMs   uint64 // when a request last called the meter for its admission
	deniedMs uint64 // when the meter last did not lend

	id         uint64 // of the lease; 0: none
	version    uint64 // of the key record under which it was granted
	endMs      uint64 // 0: it was not granted, or has ended
	requests   uint64 // lent in total
	taken      uint64
	amountPico int64 // lent in total
	usedPico   int64 // reserved, registered or spent
	typical    int64 // reservation of the last request
	extending  bool  // a request that calls the meter asks for more
	slots      uint64
	windows    []keymeter.Window
	seen       uint64 // taken when the windows were received
	closing    bool   // the lease is used no longer
	reclose    bool   // the meter has extended it meanwhile, perhaps after its close
	seq        uint64 // of the last report
	recent     bool   // it was sent before the end of the current interval
	naps       uint64 // intervals that the keeper has slept while a report was in flight
	woken      uint64 // taken when the keeper last woke

	open   []keymeter.Leased // requests of the lease that are in progress and not reported
	done   done              // requests of the lease that have ended
	ended  [][]byte          // settles of registered requests, not reported
	flight flight

	tally tally

	keeper  uint64 // 0: none
	sinceMs uint64 // beginning of its duty
	wakesMs uint64 // when it wakes next

	wentBack bool // the clock has gone back since the entry was decoded
}

// done are requests that stay encoded until they are reported: every request of the key passes the entry through two
// steps.
type done struct {
	count uint64
	list  []byte
}

func (d *done) add(l *keymeter.Leased) {
	w := abi.Writer{Buf: d.list[:len(d.list):len(d.list)]} // the bytes after it are not the list's
	keymeter.LeasedFields(abi.WriteTo(&w), l)
	d.count, d.list = d.count+1, w.Buf
}

// appendTo appends the requests to a list.
func (d *done) appendTo(list []keymeter.Leased) []keymeter.Leased {
	list = slices.Grow(list, int(d.count))
	f := abi.ReadFrom(&abi.Reader{Buf: d.list})
	for range d.count {
		var l keymeter.Leased
		keymeter.LeasedFields(f, &l)
		list = append(list, l)
	}
	return list
}

// flight is the report that the meter has not confirmed.
type flight struct {
	number  uint64 // distinguishes it from earlier reports, also of other leases; it grows
	failed  bool   // the last call failed
	command []byte // empty: none
	open    uint64 // requests in progress
	count   uint64 // of requests and settles
}

// Sending identifies one transmission of a report.
type Sending struct{ Number, Ms uint64 }

// Fields lists the fields of a transmission.
func (s *Sending) Fields(f *abi.Fields) {
	f.Uint(&s.Number)
	f.Uint(&s.Ms)
}

// Decode decodes an entry. A malformed one is empty: nothing of an older version can be used.
func Decode(data []byte) *Entry {
	e := &Entry{}
	if len(data) > 0 && abi.DecodeFields(data, e.fields) != nil {
		e = &Entry{}
	}
	return e
}

// Encode encodes the entry; an empty one is nil. The time is for how long the host must keep it.
func (e *Entry) Encode() (data []byte, keepMs uint64) {
	if !e.Held() {
		switch {
		case e.tally.refusals > 0: // of the running minute, perhaps
			keepMs = minuteMs
		case e.markMs == 0 && e.deniedMs == 0:
			return nil, 0
		default:
			keepMs = MarkMs
		}
		return abi.EncodeFields(0, 64, e.fields), keepMs
	}
	return abi.EncodeFields(0, 256+256*(len(e.open)+len(e.ended))+len(e.done.list)+len(e.flight.command)+e.tally.size(), e.fields), KeepMs
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
	f.Flags(&e.extending, &e.closing, &e.reclose)
	f.Uint(&e.seq)
	f.Bool(&e.recent)
	f.Uint(&e.naps)
	f.Uint(&e.woken)
	abi.List(f, &e.open, keymeter.LeasedFields)
	f.Uint(&e.done.count)
	f.Bytes(&e.done.list)
	abi.List(f, &e.ended, (*abi.Fields).Bytes)
	f.Uint(&e.flight.number)
	f.Bool(&e.flight.failed)
	f.Bytes(&e.flight.command)
	f.Uint(&e.flight.open)
	f.Uint(&e.flight.count)
	f.Uint(&e.keeper)
	f.Uint(&e.sinceMs)
	f.Uint(&e.wakesMs)
	if f.Group(e.tally.source != 0) {
		e.tally.fields(f)
	}
}

// pending reports whether the meter does not know everything yet.
func (e *Entry) pending() bool {
	return len(e.open)+len(e.done.list)+len(e.ended)+len(e.flight.command) > 0
}

// Held reports whether the entry has a lease, or something that must be reported to the meter or the Ledger.
func (e *Entry) Held() bool { return e.id != 0 || e.pending() || e.tally.held() }

// tick moves the entry to now. It returns false, and ends the lease for good, if the clock went back: replies to commands
// that were sent before say nothing about its end.
func (e *Entry) tick(now uint64) bool {
	ok := now+stepBackMs >= e.lastMs
	if !ok {
		e.endMs, e.closing, e.lastMs, e.markMs, e.deniedMs = 0, e.id != 0, now, 0, 0
		e.wakesMs, e.sinceMs = min(e.wakesMs, now), min(e.sinceMs, now)
		e.wentBack = true
	}
	e.lastMs = max(e.lastMs, now)
	return ok
}

// WentBack reports whether the clock has gone back since the entry was decoded. The entry must then be written, even if
// nothing else has changed: when the clock has caught up, the lease would be used again.
func (e *Entry) WentBack() bool { return e.wentBack }

// Request is a request to be admitted.
type Request struct {
	ID         string
	Version    uint64 // of the key record
	Model      string
	AmountPico int64
	LifetimeMs uint64
	Settle     *keymeter.Settle // of a request that is complete at its admission; nil: it is not
}

// Take admits a request by the lease. It returns false if the meter must decide.
func (e *Entry) Take(now uint64, q *Request) bool {
	ok := e.tick(now)
	e.typical = q.AmountPico
	switch {
	case !ok, e.endMs <= e.lastMs, e.version != q.Version, e.taken >= e.requests:
		return false
	case e.amountPico-e.usedPico < q.AmountPico, !e.extending && q.AmountPico > 0 && e.low(), e.inProgress() >= e.slots, e.full():
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
	e.open = append(e.open, l)
	return true
}

// low reports whether the lease's budget will soon be used up. One request then asks the meter for more, while the others
// continue.
func (e *Entry) low() bool { return e.amountPico-e.usedPico < lowAmounts*e.typical }

// inProgress is the number of requests that are in progress and not registered at the meter.
func (e *Entry) inProgress() uint64 { return uint64(len(e.open)) + e.flight.open }

// full reports whether the entry takes no further request.
func (e *Entry) full() bool {
	if len(e.open)+len(e.ended)+int(e.done.count+e.flight.count) >= maxRequests {
		return true
	}
	size := len(e.flight.command) + len(e.done.list) + requestBytes*len(e.open)
	for _, s := range e.ended {
		size += len(s)
	}
	return size >= maxBytes
}

// Windows are the limits' states for an answer that was admitted by the lease.
func (e *Entry) Windows() []keymeter.Window {
	list := slices.Clone(e.windows)
	for i := range list {
		list[i].Remaining -= min(list[i].Remaining, e.taken-e.seen)
	}
	return list
}

// Ask decides whether an exchange that calls the meter asks for a lease: the ID of the lease to extend, or random for a
// new one; 0 for none. The exchange is then the keeper. changed reports whether the entry has changed.
func (e *Entry) Ask(now, version, random, exchange uint64) (id uint64, changed bool) {
	e.tick(now)
	if e.deniedMs != 0 && e.lastMs < e.deniedMs+deniedMs {
		return 0, false
	}
	if e.id != 0 {
		if e.endMs <= e.lastMs || e.version != version || e.extending {
			return 0, false // another request asks, or the lease is being closed
		}
		e.extending = true
		return e.id, true
	}
	hot := e.markMs != 0 && e.lastMs < e.markMs+hotMs
	if !hot || e.pending() {
		if e.lastMs < e.markMs+markEveryMs {
			return 0, false
		}
		e.markMs = e.lastMs
		return 0, true
	}
	*e = Entry{
		lastMs: e.lastMs, id: max(1, random), version: version, typical: e.typical, keeper: exchange, sinceMs: now, wakesMs: now + askMs, tally: e.tally,
	}
	return e.id, true
}

// Asked is what an exchange has asked the meter for, with its admission.
type Asked struct {
	ID      uint64 // of the lease
	SentMs  uint64 // when the command was sent
	Version uint64 // of the key record in it
}

// Granted takes the meter's lease, in a reply to a command. A Lease without ID means that the meter lends nothing. It
// returns false if the entry has no use for the lease.
func (e *Entry) Granted(now uint64, asked Asked, l *keymeter.Lease, windows []keymeter.Window) bool {
	if e.tick(now); asked.ID == e.id {
		e.extending = false
	}
	switch {
	case asked.ID != e.id || l.ID != 0 && l.ID != e.id:
		return l.ID == 0
	case l.ID == 0:
		// Perhaps a refusal of the request, which says nothing about a lease that was granted before.
		if e.deniedMs = e.lastMs; e.requests == 0 {
			e.drop()
		}
		return true
	case e.closing:
		e.reclose = e.reclose || l.DurationMs > 0
		return true
	case e.requests == 0:
		e.version = asked.Version
	}
	e.requests, e.amountPico, e.slots = max(e.requests, l.Requests), max(e.amountPico, l.AmountPico), l.Slots
	e.windows, e.seen = windows, e.taken
	if l.DurationMs > 0 {
		e.endMs = max(e.endMs, asked.SentMs+l.DurationMs)
	} else {
		// A reply that the meter has sent before may still come, and its slots are used up meanwhile.
		e.endMs, e.closing, e.deniedMs = 0, true, e.lastMs
	}
	return true
}

// Unknown notes that the outcome of the admission which asked for a lease is unknown. The keeper closes a new lease.
func (e *Entry) Unknown(asked uint64) {
	if asked == e.id {
		e.extending = false
	}
}

// drop forgets the lease, of which nothing is in progress at the meter.
func (e *Entry) drop() {
	e.id, e.endMs, e.requests, e.taken, e.amountPico, e.usedPico, e.seq, e.woken, e.open = 0, 0, 0, 0, 0, 0, 0, 0, nil
	e.windows, e.seen, e.extending, e.closing, e.reclose, e.done = nil, 0, false, false, false, done{}
	e.rest()
}

// rest ends the keeper's duty if there is nothing to keep: its exchange sleeps no longer, and the next settle needs a new one.
func (e *Entry) rest() {
	if !e.Held() {
		e.keeper = 0
	}
}

// find is the index of a request of the lease that is not reported, or -1.
func (e *Entry) find(requestID string) int {
	return slices.IndexFunc(e.open, func(l keymeter.Leased) bool { return l.RequestID == requestID })
}

// Settle leaves a settlement in the entry. It returns false if there is no room for it: the meter, which has the request's
// reservation, must then get it at once.
func (e *Entry) Settle(now uint64, s *keymeter.Settle) bool {
	e.tick(now)
	i := e.find(s.RequestID)
	if i < 0 {
		if !e.Held() || e.full() && !e.inFlight(s.RequestID) {
			return false // an empty entry would be a new one, for which the host may have no room
		}
		e.ended = append(e.ended, s.Encode())
		return true
	}
	l := e.open[i]
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
