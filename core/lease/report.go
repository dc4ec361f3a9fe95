package lease

import "github.com/postern-ai/postern/core/keymeter"

// Due reports whether a report should be sent before the interval is over.
func (e *Entry) Due() bool {
	if len(e.flight.command) > 0 {
		return false
	}
	return len(e.ended)+int(e.done.count) >= reportAt || e.slots > 0 && uint64(len(e.open)) > max(1, e.slots/2)
}

// Report makes the next report, or repeats the one whose confirmation is missing. It returns nil if there is nothing to
// report. Urgent is a report before the end of an interval. At the end, a lease that was not used is closed.
func (e *Entry) Report(now uint64, urgent bool) ([]byte, Sending) {
	e.tick(now)
	if len(e.flight.command) > 0 {
		r, err := keymeter.DecodeReport(e.flight.command)
		if err != nil {
			e.flight = flight{number: e.flight.number}
			return nil, Sending{}
		}
		r.SentMs, e.flight.failed = e.lastMs, false
		return r.Encode(), Sending{e.flight.number, e.lastMs}
	}
	used := urgent || e.taken > e.woken
	live := e.id != 0 && e.endMs > e.lastMs
	if e.id == 0 && !e.pending() {
		return nil, Sending{}
	}
	open := uint64(len(e.open))
	r := keymeter.Report{
		SentMs: e.lastMs, LeaseID: e.id, Requests: e.done.appendTo(e.open), Settles: e.ended, Close: e.id != 0 && !(live && used), Renew: live && used, AmountPico: e.typical,
	}
	if e.id != 0 {
		e.seq++
		r.Seq = e.seq
	}
	if e.recent = urgent; !urgent {
		e.woken = e.taken
	}
	count := uint64(len(r.Requests) + len(e.ended))
	e.flight = flight{number: max(e.flight.number+1, e.lastMs), command: r.Encode(), open: open, count: count}
	e.open, e.done, e.ended = nil, done{}, nil
	if r.Close {
		e.endMs, e.closing = 0, true
	}
	return e.flight.command, Sending{e.flight.number, e.lastMs}
}

// InFlight reports whether a report has been sent and not been confirmed.
func (e *Entry) InFlight() bool { return len(e.flight.command) > 0 && !e.flight.failed }

// Confirmed takes the meter's reply to a transmission of a report. The reply to an earlier report is late.
func (e *Entry) Confirmed(now uint64, sent Sending, reply *keymeter.ReportReply) {
	e.tick(now)
	if len(e.flight.command) == 0 || sent.Number != e.flight.number {
		return
	}
	r, err := keymeter.DecodeReport(e.flight.command)
	e.flight = flight{number: e.flight.number}
	switch {
	case err != nil || r.LeaseID == 0 || r.LeaseID != e.id:
		e.rest()
	case r.Close && e.reclose:
		e.reclose = false // another one follows
	case r.Close:
		e.drop()
	case reply.Lease.ID != e.id:
		e.endMs, e.closing = 0, true // the meter has no such lease
	default:
		e.extending = false
		e.Granted(now, Asked{ID: e.id, SentMs: sent.Ms}, &reply.Lease, reply.Windows)
	}
}

// Failed notes that the outcome of a transmission is unknown: the next report repeats it.
func (e *Entry) Failed(sent Sending) {
	if sent.Number == e.flight.number {
		e.flight.failed = true
	}
}

// Keep makes an exchange the keeper if there is none. It returns false if there is one, or nothing to keep.
func (e *Entry) Keep(now, exchange uint64) bool {
	e.tick(now)
	if !e.Held() || e.keeper == exchange || e.keeper != 0 && now < e.wakesMs+absentMs {
		return false
	}
	e.begin(now, exchange)
	return true
}

// Keeper is the exchange that reports the entry; 0: none.
func (e *Entry) Keeper() uint64 { return e.keeper }

// Keeps reports whether the exchange must wake at the end of the interval: it is the keeper, or nobody is. An exchange that
// has nothing to keep resigns.
func (e *Entry) Keeps(exchange uint64) bool {
	if !e.Held() {
		e.resign(exchange)
		return false
	}
	return e.keeper == exchange || e.keeper == 0
}

func (e *Entry) begin(now, exchange uint64) {
	e.keeper, e.sinceMs, e.wakesMs = exchange, now, now+e.napMs(now)
}

// Duty is what a keeper does when it wakes.
type Duty uint8

const (
	Leave Duty = iota // another exchange is the keeper, or there is nothing to keep
	Sleep             // until the end of the next interval
	Send              // a report
)

// Wake decides what the keeper does at the end of an interval. After its time it lets the next exchange take over, and
// continues only if there is none.
func (e *Entry) Wake(now, exchange uint64) Duty {
	e.tick(now)
	if e.keeper != exchange && e.keeper != 0 || !e.Held() {
		e.resign(exchange)
		return Leave
	}
	if e.keeper == 0 {
		e.begin(now, exchange)
	} else if now >= e.sinceMs+dutyMs {
		e.keeper = 0
	}
	e.wakesMs = now + e.napMs(now)
	switch {
	case e.InFlight() && e.naps < maxNaps:
		e.naps++
		return Sleep
	case e.recent && !e.InFlight():
		e.recent = false
		return Sleep
	}
	e.naps = 0
	return Send
}

// maxNaps is the number of intervals after which a report that nobody confirmed is sent again: the exchange that sent it
// has died.
const maxNaps = 10

func (e *Entry) resign(exchange uint64) {
	if e.keeper == exchange {
		e.keeper = 0
	}
}
