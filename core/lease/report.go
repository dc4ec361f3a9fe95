package lease

import "github.com/postern-ai/postern/core/keymeter"

// Due reports whether a report should be sent before the interval is over.
func (e *Entry) Due() bool {
	if len(e.flight.command) > 0 {
		return false
	}
	settled := len(e.ended)
	for i := range e.open {
		if len(e.open[i].Settle) > 0 {
			settled++
		}
	}
	return settled >= reportAt || uint64(len(e.open)-settled+len(e.ended)) > max(1, e.slots/2) && e.slots > 0
}

// Report makes the next report, or repeats the one whose confirmation is missing. It returns nil if there is nothing to
// report. Urgent is a report before the end of an interval. At the end, a lease that was not used is closed, unless a request
// asks for its extension: the meter would make a new lease of it.
func (e *Entry) Report(now uint64, urgent bool) []byte {
	e.tick(now)
	if len(e.flight.command) > 0 {
		r, err := keymeter.DecodeReport(e.flight.command)
		if err != nil {
			e.flight = flight{}
			return nil
		}
		r.SentMs, e.flight.sentMs, e.flight.failed = e.lastMs, e.lastMs, false
		return r.Encode()
	}
	used := urgent || e.taken > e.woken
	live := e.id != 0 && e.endMs > e.lastMs
	if e.id == 0 && !e.pending() {
		return nil
	}
	r := keymeter.Report{
		SentMs: e.lastMs, LeaseID: e.id, Requests: e.open, Settles: e.ended, Close: e.id != 0 && !(live && used) && !e.extending, Renew: live && used, AmountPico: e.typical,
	}
	if e.id != 0 {
		e.seq++
		r.Seq = e.seq
	}
	if e.recent = urgent; !urgent {
		e.woken = e.taken
	}
	count := 0
	for i := range e.open {
		if len(e.open[i].Settle) == 0 {
			count++
		}
	}
	e.flight = flight{sentMs: e.lastMs, command: r.Encode(), count: uint64(count), closing: r.Close}
	e.open, e.ended = nil, nil
	if r.Close {
		e.endMs = 0
	}
	return e.flight.command
}

// InFlight reports whether a report has been sent and not been confirmed.
func (e *Entry) InFlight() bool { return len(e.flight.command) > 0 && !e.flight.failed }

// Confirmed takes the meter's reply to the report with a number.
func (e *Entry) Confirmed(now uint64, reply *keymeter.ReportReply) {
	r, err := keymeter.DecodeReport(e.flight.command)
	sentMs := e.flight.sentMs
	e.flight = flight{}
	if err != nil || !e.tick(now) {
		return
	}
	switch {
	case r.LeaseID == 0 || r.LeaseID != e.id:
	case r.Close:
		e.drop()
	case reply.Lease.ID != e.id:
		e.endMs = 0 // closed or booked
	default:
		e.Granted(now, sentMs, e.id, &reply.Lease, reply.Windows)
	}
}

// Failed notes that a report's outcome is unknown: the next report repeats it.
func (e *Entry) Failed() { e.flight.failed = true }

// Keep makes an exchange the keeper if there is none. It returns false if there is one, or nothing to keep.
func (e *Entry) Keep(now, exchange uint64) bool {
	if !e.Held() || e.keeper == exchange || e.keeper != 0 && now < e.wakesMs+absentMs {
		return false
	}
	e.begin(now, exchange)
	return true
}

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
	e.keeper, e.sinceMs, e.wakesMs = exchange, now, now+ReportMs
}

// Duty is what a keeper does when it wakes.
type Duty uint8

const (
	Leave Duty = iota // another exchange is the keeper, or there is nothing to keep
	Sleep             // until the end of the next interval
	Send              // a report
)

// Wake decides what the keeper does at the end of an interval. After its time it lets the next exchange take over, and goes
// on only if there is none.
func (e *Entry) Wake(now, exchange uint64) Duty {
	if e.keeper != exchange && e.keeper != 0 || !e.Held() {
		e.resign(exchange)
		return Leave
	}
	if e.keeper == 0 {
		e.begin(now, exchange)
	} else if now >= e.sinceMs+dutyMs {
		e.keeper = 0
	}
	e.wakesMs = now + ReportMs
	switch {
	case (e.InFlight() || e.extending) && e.naps < maxNaps:
		if e.naps++; e.InFlight() {
			return Sleep
		}
		return Send
	case e.recent && !e.InFlight():
		e.recent = false
		return Sleep
	}
	e.naps, e.extending = 0, false
	return Send
}

// maxNaps is the number of intervals after which a report that nobody confirmed is sent again, and an extension that was
// not granted is forgotten: the exchange that waits for it has died.
const maxNaps = 10

func (e *Entry) resign(exchange uint64) {
	if e.keeper == exchange {
		e.keeper = 0
	}
}
