package exchange_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/test/transcript"
)

// leaseOf returns a lease with the requested ID and, for example, lease=50 (admissions), lend=$1 and slots=25. The
// lease lasts two seconds. With "ended", it has ended. If lease= is missing, there is no lease.
func leaseOf(a *args, id uint64) keymeter.Lease {
	l := keymeter.Lease{ID: id, Requests: a.number("lease", 0), AmountPico: a.dollars("lend"), DurationMs: 2000, Slots: a.number("slots", 25)}
	if l.Requests == 0 {
		return keymeter.Lease{}
	}
	if id == 0 {
		a.fail("the exchange has not asked for a lease")
	}
	if a.flag("ended") {
		l.DurationMs = 0
	}
	return l
}

// reported [lease=50 lend=$1 slots=25 ended] [failed]: the meter's reply to a report of a lease. If lease= is
// missing, the meter has no such lease.
func (s *session) doReported(a *args) {
	call := s.find(a, callOf("report-lease"))
	r := keymeter.ReportReply{Lease: leaseOf(a, transcript.Open(call).(*keymeter.Report).LeaseID)}
	event := reply(r.Encode())
	if word := a.word(); word != "" {
		event = abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	}
	s.reply(a, call.ID, event)
}

// keeperID is the ID of the wait in which a keeper sleeps.
const keeperID = 6000

// keeper: the keeper's wait ends.
func (s *session) doKeeper(a *args) { s.finishWait(a, keeperID) }

// pinnedID is the ID of the wait for the step that has the key's entry.
const pinnedID = 6002

// pinned: the next step of an exchange that was not served.
func (s *session) doPinned(a *args) { s.finishWait(a, pinnedID) }

// tallied [failed]: the Ledger's reply to a tally.
func (s *session) doTallied(a *args) {
	event := reply(nil)
	if word := a.word(); word != "" {
		event = abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	}
	s.reply(a, s.find(a, callOf("tally")).ID, event)
}

// evict: the host drops all pinned entries, as if the isolate had been restarted.
func (s *session) doEvict(*args) {
	clear(s.pinned)
	s.out.WriteString("ok\n")
}
