package lease

import "github.com/postern-ai/postern/core/keymeter"

// Due reports whether a report should be sent before the end of the interval.
func (e *Entry) Due() bool {
	if len(e.flight.command) > 0 {
		return false
	}
	return len(e.ended)+int(e.done.count) >= reportAt || e.slots > 0 && uint64(len(e.open)) > max(1, e.slots/2) || e.low()
}

// Report returns the next report, or repeats the unconfirmed one. It returns nil if there is nothing to report. An
// urgent report is sent before the end of an interval. A report at the end of an interval closes a lease that was not
// used.
func (e *Entry) Report(now uint64, urgent bool) ([]byte, Sending) {
	e.tick(now)
	if len(e.flight.command) > 0 {
		r, err := keymeter.DecodeReport(e.flight.command)
		if err != nil {
			e.flight = flight{number: e.flight.number}
			return nil, Sending{}
		}
		r.SentMs, e.flight.failed, e.flight.sentMs = e.lastMs, false, e.lastMs
		return r.Encode(), Sending{e.flight.number, e.lastMs}
	}
	used := urgent || e.taken > e.woken
	live := e.live()
	if e.id == 0 && !e.pending() {
		return nil, Sending{}
	}
	open := uint64(len(e.open))
	r := keymeter.Report{
		SentMs: e.lastMs, LeaseID: e.id, Requests: e.done.appendTo(appendOpen(nil, e.open)), Settles: e.ended, Close: e.id != 0 && !(live && used), Renew: live && used, AmountPico: e.typical,
	}
	if e.id != 0 {
		e.seq++
		r.Seq = e.seq
	}
	if e.recent = urgent; !urgent {
		e.woken = e.taken
	}
	count := uint64(len(r.Requests) + len(e.ended))
	e.flight = flight{number: max(e.flight.number+1, e.lastMs), sentMs: e.lastMs, command: r.Encode(), open: open, count: count}
	e.open, e.done, e.ended = nil, done{}, nil
	if r.Close {
		e.endMs, e.closing = 0, true
	}
	return e.flight.command, Sending{e.flight.number, e.lastMs}
}

// InFlight reports whether a report was sent and is not yet confirmed.
func (e *Entry) InFlight() bool { return len(e.flight.command) > 0 && !e.flight.failed }

// Confirmed takes the meter's reply to a report. It ignores a late reply to an earlier report.
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
		e.reclose = false // the next report follows
	case r.Close:
		e.drop()
	case reply.Lease.ID != e.id:
		e.endMs, e.closing = 0, true // the meter does not know the lease
	default:
		e.Granted(now, Asked{ID: e.id, SentMs: sent.Ms}, &reply.Lease, reply.Windows)
	}
}

// Failed records that the outcome of a transmission is unknown. The next report repeats it.
func (e *Entry) Failed(sent Sending) {
	if sent.Number == e.flight.number {
		e.flight.failed = true
	}
}

// Keep makes an exchange the keeper. It returns false if there is nothing to keep, or if there already is a keeper
// that is not presumed dead.
func (e *Entry) Keep(now, exchange uint64) bool {
	e.tick(now)
	if !e.Held() || e.keeper == exchange || e.keeper != 0 && now < e.wakesMs+absentMs {
		return false
	}
	e.begin(now, exchange)
	return true
}

// Keeper returns the exchange that reports the entry, or 0.
func (e *Entry) Keeper() uint64 { return e.keeper }

// Keeps reports whether the exchange must wake at the end of the interval. It must if it is the keeper, or if there
// is no keeper. An exchange with nothing to keep stops being the keeper.
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

// Duty is the task of a keeper that has woken up.
type Duty uint8

const (
	Leave Duty = iota // another exchange is the keeper, or there is nothing to keep
	Sleep             // sleep until the end of the next interval
	Send              // send a report
)

// Wake decides what the keeper does at the end of an interval. After dutyMs, it lets the next exchange take over. If
// there is none, it continues.
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

// maxNaps is the number of intervals after which an unconfirmed report is sent again. By then, the exchange that sent
// it must have died.
const maxNaps = 10

func (e *Entry) resign(exchange uint64) {
	if e.keeper == exchange {
		e.keeper = 0
	}
}
