package explore_test

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
)

// Leases: the environment includes the key's entry. Other exchanges of the isolate may change the entry at any point.
// One of them may be its keeper.

const (
	leaseTimerID = 6000
	pinnedID     = 6002
	talliedID    = 6003
	otherKeeper  = 999 // an exchange of the isolate that is still alive
	requestID    = "req_1"
)

// neighbor is a change to the entry that another exchange of the isolate makes once, after some time.
type neighbor struct {
	name   string
	ms     uint64
	change func(now uint64, e *lease.Entry)
}

// neighbors returns the changes that other exchanges may make to the entry.
func (w *world) neighbors() (options []option) {
	for _, n := range w.scenario.neighbors {
		if w.uses[n.name] > 0 || len(w.open) == 0 {
			continue
		}
		options = append(options, option{n.name, 0, func(w *world) {
			w.use(n.name, 1)
			w.nowMs += n.ms
			if n.change != nil {
				e := lease.Decode(w.pinned)
				n.change(w.nowMs, e)
				w.pinned, _ = e.Encode()
			}
		}})
	}
	return options
}

// entry returns the content of the pinned entry for a step.
func (w *world) entry() []byte {
	if w.pins {
		return w.pinned
	}
	return nil
}

// noteEntry applies a step's change to the entry. If a lease has admitted the request, it records that. It also
// records the request's settlement.
func (w *world) noteEntry(out *abi.StepOutput) {
	if !out.PinnedChanged {
		return
	}
	if !w.pins {
		w.violate("an entry that is not pinned changes")
	}
	w.pinned = out.Pinned
	f, requests, settles := &w.facts, []keymeter.Leased(nil), [][]byte(nil)
	requests, settles = lease.Decode(w.pinned).Unreported()
	for i := range requests {
		if requests[i].RequestID != requestID {
			continue
		}
		settles = append(settles, requests[i].Settle)
		if !f.leased {
			f.leased, f.admitted = true, keymeter.ModeReserve
			if s, err := keymeter.DecodeSettle(requests[i].Settle); err == nil && s.Outcome == keymeter.Hit {
				f.admitted, f.left = keymeter.ModeHit, true
			}
			f.record("admitted by a lease")
		}
	}
	if s := own(settles); s != nil && !f.left {
		f.left = true
		w.noteSettle(s)
	}
}

// own returns the request's settlement from a list of encoded settlements, or nil.
func own(settles [][]byte) *keymeter.Settle {
	for _, data := range settles {
		if s, err := keymeter.DecodeSettle(data); err == nil && s.RequestID == requestID {
			return &s
		}
	}
	return nil
}

// noteReport records that the meter has confirmed a report with the request's settlement. The settlement must not be
// reported twice.
func (w *world) noteReport(a *abi.Action, e *abi.Event) {
	r, err := keymeter.DecodeReport(a.Data)
	if err != nil || e.Code != abi.OutcomeOK {
		return
	}
	settles := r.Settles
	for i := range r.Requests {
		settles = append(settles, r.Requests[i].Settle)
	}
	if own(settles) == nil {
		return
	}
	if w.facts.confirmed++; w.facts.confirmed > 1 {
		w.violate("the settle is reported %d times", w.facts.confirmed)
	}
}

// checkLease runs after the exchange has ended. An exchange that is still alive must keep the entry, and no
// settlement may be lost.
func (w *world) checkLease() {
	e := lease.Decode(w.pinned)
	handedOver := e.Keeper() == 0 && lease.Decode(w.scenario.pinned).Held() // the other keeper will still wake up
	if w.pins && e.Held() && e.Keeper() != otherKeeper && !handedOver {
		w.violate("the exchange ends, and nobody keeps the lease")
	}
	requests, settles := e.Unreported()
	for i := range requests {
		settles = append(settles, requests[i].Settle)
	}
	if f := &w.facts; f.left && f.confirmed == 0 && own(settles) == nil && w.uses[reportsForAll.name] == 0 {
		w.violate("the settle is lost")
	}
}

var lent = keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 64, AmountPico: 1 << 40, Slots: 20}

func lendingPlan(r *doc.Record) { r.Plan = "lending" }

// hotEntry returns the entry of a key. Another request of this key has just called the meter.
func hotEntry() []byte {
	e := &lease.Entry{}
	e.Ask(startMs-900, 5, 7, otherKeeper)
	data, _ := e.Encode()
	return data
}

// leasedEntry returns an entry with a lease. If kept is set, the lease's keeper is still alive. Otherwise, the keeper
// has ended, and the next exchange takes over.
func leasedEntry(l keymeter.Lease, kept bool) []byte {
	e := &lease.Entry{}
	e.Ask(startMs-16_500, 5, 7, otherKeeper)
	e.Ask(startMs-15_900, 5, 7, otherKeeper)
	e.Granted(startMs-15_800, lease.Asked{ID: 7, SentMs: startMs - 15_900, Version: 5}, &l, windows)
	for now := uint64(startMs - 15_500); now < startMs && (!kept || now < startMs-600); now += lease.ReportMs {
		id := fmt.Sprint("other_", now)
		e.Take(now, &lease.Request{ID: id, Version: 5, Model: "only", LifetimeMs: 60_000})
		e.Settle(now, &keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "only"})
		e.Wake(now, otherKeeper)
		if command, sent := e.Report(now, false); command != nil {
			l.Requests++
			e.Confirmed(now+20, sent, &keymeter.ReportReply{Lease: l, Windows: windows})
		}
	}
	if kept != (e.Keeper() == otherKeeper) || !e.Held() {
		panic(fmt.Sprintf("the keeper is %d", e.Keeper()))
	}
	data, _ := e.Encode()
	return data
}

// lending admits a request. If the request asks for a lease, it gets one.
var lending = choice{name: "admitted with a lease", reply: func(command any) []byte {
	a := command.(*keymeter.Admit)
	reply := keymeter.AdmitReply{Verdict: keymeter.Admitted, Windows: windows, ReservedPico: a.AmountPico}
	if a.LeaseID != 0 {
		reply.Lease = lent
		reply.Lease.ID = a.LeaseID
	}
	return reply.Encode()
}}

// renewed confirms a report. Unless the report closes the lease, it also renews the lease.
var renewed = choice{name: "renewed", reply: func(command any) []byte {
	r := command.(*keymeter.Report)
	reply := keymeter.ReportReply{Lease: lent, Windows: windows}
	if reply.Lease.ID = r.LeaseID; r.Close || r.LeaseID == 0 {
		reply.Lease.DurationMs = 0
	}
	reply.Lease.Requests += 200
	return reply.Encode()
}}

var (
	unknownLease = ok("no such lease", (&keymeter.ReportReply{}).Encode())
	shortOfLent  = verdict("short of lent budget", keymeter.AdmitReply{Verdict: keymeter.Short, Period: period, Epoch: 3, HeldPico: 500, NeedPico: 1000, LeastPico: 100, LentMs: 2600})
	shortToLend  = verdict("short of budget to lend", keymeter.AdmitReply{Verdict: keymeter.Short, Period: period, Epoch: 3, HeldPico: 500})
	lentUsage    = ok("lent budget", (&keymeter.FlushReply{Absorbs: [][]byte{{1}}, LentMs: 2600}).Encode())
)

// reportsForAll is a report by the other keeper. It contains everything in the entry.
var reportsForAll = neighbor{"the keeper reports", 20, func(now uint64, e *lease.Entry) {
	if e.InFlight() || !e.Held() {
		return
	}
	if command, sent := e.Report(now, true); command != nil {
		e.Confirmed(now, sent, &keymeter.ReportReply{Lease: lent, Windows: windows})
	}
}}

var (
	keeperDies    = neighbor{"the keeper dies, and two seconds pass", 2100, nil}
	clockGoesBack = neighbor{"the clock goes back", 0, func(now uint64, e *lease.Entry) { e.Keep(now-60_000, otherKeeper) }}
	leaseIsUsedUp = neighbor{"the lease is used up", 0, func(now uint64, e *lease.Entry) {
		hit := keymeter.Settle{RequestID: "other", Outcome: keymeter.Hit, Model: "only"}
		for e.Take(now, &lease.Request{ID: "other", Version: 5, Model: "only", LifetimeMs: 60_000, Settle: &hit}) {
		}
	}}
	otherAnswers = neighbor{"another request is admitted", 0, func(now uint64, e *lease.Entry) {
		e.Take(now, &lease.Request{ID: "other", Version: 5, Model: "only", LifetimeMs: 60_000})
	}}
	otherSettles = neighbor{"another request settles", 0, func(now uint64, e *lease.Entry) {
		e.Settle(now, &keymeter.Settle{RequestID: "other", Outcome: keymeter.Served, Model: "only"})
		e.Keep(now, otherKeeper)
	}}
	entryIsDropped = neighbor{"the host drops the entry", 0, func(_ uint64, e *lease.Entry) { *e = lease.Entry{} }}
)

func entryOf(data []byte, list ...neighbor) func(*scenario) {
	return func(s *scenario) { s.pinned, s.neighbors = data, slices.Clone(list) }
}

// leases returns requests with a key whose plan allows leases.
func leases() []*scenario {
	lendingPost := func(name, body string, more alphabet, changes ...func(*scenario)) *scenario {
		return post(name, "/v1/chat/completions", body, alphabet{"key": {record(lendingPlan)}}.with(more), changes...)
	}
	one := bodyFor("only", messages)
	reports := []choice{renewed, unknownLease, failed.only(2)}
	hit := ok("hit", prime(post("first request of a lent hit", "/v1/chat/completions", one, alphabet{"key": {record(cached)}, "fetch": {openaiOK}}, staysConnected)))
	small := lent
	small.AmountPico = 1
	return []*scenario{
		lendingPost("lent request", one, alphabet{"fetch": {openaiOK, down, fault(abi.FaultTotal)}, "report-lease": reports}, entryOf(leasedEntry(lent, false))),
		lendingPost("lent request with a keeper", one, alphabet{"admit": {lending, rateLimited}, "fetch": {openaiOK, down}, "report-lease": {renewed}},
			entryOf(leasedEntry(lent, true), reportsForAll, leaseIsUsedUp)),
		lendingPost("lent request whose keeper dies", one, alphabet{"admit": {admitted}, "fetch": {openaiOK, down}, "report-lease": {renewed, failed.only(1)}},
			entryOf(leasedEntry(lent, true), keeperDies, otherAnswers)),
		lendingPost("lent request, and the clock goes back", one, alphabet{"admit": {lending}, "fetch": {openaiOK}, "report-lease": {renewed, failed.only(1)}},
			entryOf(leasedEntry(lent, false), clockGoesBack)),
		lendingPost("lent stream", streaming(one), alphabet{"stream": {streamed(openaiStream), down}, "report-lease": {renewed, failed.only(1)}}, entryOf(leasedEntry(lent, false))),
		lendingPost("lent stream with an idempotency key", streaming(one), alphabet{"stream": {streamed(openaiBrief)}, "report-lease": {renewed}}, entryOf(leasedEntry(lent, false)),
			withHeaders(header("idempotency-key", "i1"))),
		lendingPost("lease too small", one, alphabet{"admit": {lending, admitted, rateLimited, inactive, failed}, "fetch": {openaiOK}, "report-lease": {renewed, failed.only(1)}},
			entryOf(leasedEntry(small, false))),
		lendingPost("request for a lease", one, alphabet{
			"admit": {lending, admitted, rateLimited, failed, short.only(1), stale(lendingPlan).only(1), stale(nil).only(1)}, "grant": {granted, noMore}, "fetch": {openaiOK, down}, "report-lease": reports,
		}, entryOf(hotEntry())),
		lendingPost("request for a lease that the slice does not cover", one, alphabet{
			"admit": {lending, shortToLend.only(1)}, "grant": {granted, failed}, "fetch": {openaiOK}, "report-lease": {renewed},
		}, entryOf(hotEntry())),
		lendingPost("request for a lease while another request settles", one, alphabet{
			"admit": {lending, rateLimited, failed, short.only(1)}, "grant": {granted, noMore}, "fetch": {openaiOK}, "report-lease": {renewed},
		}, entryOf(hotEntry(), otherSettles)),
		lendingPost("request for a lease, and the entry is dropped", one, alphabet{"admit": {lending, failed}, "fetch": {openaiOK}, "report-lease": {renewed}}, entryOf(hotEntry(), entryIsDropped)),
		lendingPost("lent hit", one, alphabet{"key": {record(both(lendingPlan, cached))}, "cache": {absent, hit}, "admit": {lending}, "fetch": {openaiOK}, "report-lease": {renewed, failed.only(1)}},
			entryOf(leasedEntry(lent, false), leaseIsUsedUp), mayName("only"), func(s *scenario) { s.entry = hit.event.Data }),
		lendingPost("budget that is lent", one, alphabet{
			"key": {record(both(lendingPlan, func(r *doc.Record) { r.CacheTTLSeconds = 3600 }))}, "admit": {admitted, shortOfLent}, "grant": {granted, noMore, recallOne}, "flush": {lentUsage, noUsage}, "fetch": {openaiOK},
		}),
	}
}
