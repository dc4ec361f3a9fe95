package lease_test

import (
	"slices"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
)

// apply delivers the command, perhaps repeatedly. Only the last reply arrives.
func (m *message) apply(w *world) {
	m.reply, m.applied = w.call(m.command), true
	if m.request == nil {
		return
	}
	reply, err := keymeter.DecodeAdmitReply(m.reply)
	if err != nil {
		w.t.Fatal(err)
	}
	if reply.Verdict == keymeter.Admitted && !m.request.reserved {
		m.request.reserved, m.request.admittedMs = true, w.now
		w.admitted = append(w.admitted, w.now)
	}
}

// replied delivers the reply to the exchange, or reports the call as failed.
func (w *world) replied(m *message, ok bool) {
	switch {
	case m.dead:
	case m.request != nil:
		w.admitReplied(m, ok)
	case m.sent.Number != 0:
		w.reportReplied(m, ok)
	}
}

// admitReplied does what an exchange does in onAdmit.
func (w *world) admitReplied(m *message, ok bool) {
	var reply keymeter.AdmitReply
	if ok {
		reply, _ = keymeter.DecodeAdmitReply(m.reply)
	}
	if reply.Verdict == keymeter.Short {
		if total := reply.HeldPico + reply.NeedPico; total <= w.granted {
			total = min(w.granted, max(total, reply.HeldPico+64*max(reply.NeedPico, m.request.amount)))
			w.sendAdmit(m.request, m.asked, keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: total})
			return
		}
	}
	m.request.running = reply.Verdict == keymeter.Admitted
	if m.asked.ID == 0 {
		return
	}
	w.step(m.isolate, func(e *lease.Entry) {
		now := w.clock(m.isolate)
		if !ok {
			e.Unknown(m.asked.ID)
		} else if !e.Granted(now, m.asked, &reply.Lease, reply.Windows) {
			closing := keymeter.Report{LeaseID: reply.Lease.ID, Seq: 1, Close: true}
			w.messages = append(w.messages, &message{isolate: m.isolate, command: closing.Encode()})
		}
		if e.Held() && e.Keeper() == m.exchange {
			w.sleep(m.isolate, m.exchange)
		}
	})
}

// reportReplied does what an exchange does in onLeaseReport.
func (w *world) reportReplied(m *message, ok bool) {
	w.step(m.isolate, func(e *lease.Entry) {
		reply, err := keymeter.DecodeReportReply(m.reply)
		if !ok || err != nil {
			e.Failed(m.sent)
		} else {
			e.Confirmed(w.clock(m.isolate), m.sent, &reply)
		}
		if e.Held() && (e.Keeper() == m.exchange || e.Keeper() == 0) {
			w.sleep(m.isolate, m.exchange)
		}
	})
}

// deliverAll delivers all messages in order, including messages that result from them.
func (w *world) deliverAll() {
	for len(w.messages) > 0 {
		m := w.messages[0]
		w.messages = slices.Delete(w.messages, 0, 1)
		if !m.applied {
			m.apply(w)
		}
		w.replied(m, true)
	}
}

// check checks the limits at the last admission.
func (w *world) check() {
	n := len(w.admitted)
	if n == 0 {
		return
	}
	last := w.admitted[n-1]
	inSecond := 0
	for i := n - 1; i >= 0 && w.admitted[i]+1000 > last; i-- {
		inSecond++
	}
	running := 0
	for _, q := range w.requests {
		if q.running && w.now < q.admittedMs+lifetimeMs {
			running++
		}
	}
	if inSecond > perSecond || n > perDay || running > concurrent {
		w.t.Fatalf("%d admissions in a second, %d in a day, %d requests in progress", inSecond, n, running)
	}
}

// finish ends all requests and delivers all messages until no exchange has work left. No entry may hold anything
// after that.
func (w *world) finish() {
	for range 100 {
		for _, q := range w.requests {
			if q.running {
				w.settle(q, q.amount)
			}
		}
		w.deliverAll()
		for _, i := range w.isolates {
			for range len(i.timers) {
				w.wakeDue(i)
			}
		}
	}
	for n, i := range w.isolates {
		if e := lease.Decode(i.entry); e.Held() || len(i.timers) > 0 {
			w.t.Fatalf("isolate %d has %d timers; keeper %d, holds %+v", n, len(i.timers), e.Keeper(), e)
		}
	}
}

// checkUsage checks the recorded usage after everything that can expire has expired.
func (w *world) checkUsage() {
	w.pass(2 * lifetimeMs)
	w.pass(20_000)
	w.flush(false)
	var requests, lost uint64
	var cost int64
	for _, q := range w.requests {
		switch {
		case q.settled:
			requests, cost = requests+1, cost+q.costPico
		case q.reserved:
			requests, lost, cost = requests+1, lost+1, cost+q.amount // the reply to its admission was lost
		}
	}
	u := &w.absorbed
	switch {
	case u.CostPico > w.granted:
		w.t.Fatalf("%d picodollars spent, %d granted", u.CostPico, w.granted)
	case w.lossless && (u.Requests != requests || u.Expired != lost || u.CostPico != cost):
		w.t.Fatalf("recorded: %d requests, %d expired, %d picodollars; want %d, %d, %d", u.Requests, u.Expired, u.CostPico, requests, lost, cost)
	case u.Requests < requests || u.CostPico < cost:
		w.t.Fatalf("recorded: %d requests, %d picodollars; want at least %d, %d", u.Requests, u.CostPico, requests, cost)
	}
}
