package main

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// models are the models of the requests, with the provider's name in the records.
var models = []string{"gpt-5.5", "gpt-4.1-mini", "claude-sonnet-5"}

// One of refusedShare requests is refused, and one of violationShare requests has a violation.
const (
	refusedShare   = 10
	violationShare = 100
	keysPerDay     = 64 // of the large project
)

// traffic creates the project's keys and makes its requests, day by day. A key's requests of a day are reported together.
func (d *deployment) traffic(o *objects, p *project, number int) {
	o.now = d.now - usageDays*dayMs
	o.call(abi.ClassLedger, p.ID, p.put(o.now))
	for i := range p.keys {
		p.create(o, &p.keys[i])
	}
	active := p.keys[1:]
	perDay := min(len(active), max(1, p.requests/usageDays/64), keysPerDay)
	made := 0
	for day := range usageDays {
		due := p.requests * (day + 1) / usageDays
		start := d.now - uint64(usageDays-day)*dayMs
		for i := range perDay {
			share := (due - made) / (perDay - i)
			o.now = start + uint64(d.random.IntN(dayMs/2-60_000))*2
			d.requests(o, p, &active[(day*perDay+i)%len(active)], share, uint64(number)<<32+uint64(made))
			made += share
		}
	}
}

// requests makes requests with one key, a second after another.
func (d *deployment) requests(o *objects, p *project, k *doc.Key, count int, first uint64) {
	if count == 0 {
		return
	}
	var refused ledger.Tally
	for n := range count {
		o.now += 1000
		id := requestID(first + uint64(n) + 1)
		if p.ID == d.report.Last {
			d.report.Request = id
		}
		if d.random.IntN(refusedShare) == 0 {
			d.refuse(o, &refused, id)
			continue
		}
		d.serve(o, p, k, id)
	}
	flush := keymeter.Flush{}
	o.call(abi.ClassKeyMeter, k.Hash, flush.Encode()) // call delivers the report to the Ledger
	if refused.KeyID = k.ID; len(refused.Records) > 0 {
		refused.Source, refused.Seq = d.random.Uint64(), 1
		o.call(abi.ClassLedger, p.ID, refused.Encode())
	}
}

func (d *deployment) refuse(o *objects, to *ledger.Tally, id string) {
	hour := o.now / calendar.HourMs
	to.Counts = append(to.Counts, ledger.EndCount{Hour: hour, Model: models[0], End: ledger.EndLimited, Count: 1})
	to.Records = append(to.Records, ledger.Record{
		AtMs: o.now, ID: id, End: ledger.EndLimited, Status: 429, Model: models[0],
		Body: []byte(`{"message":"Rate limit exceeded","method":"POST","endpoint":"/v1/chat/completions","requestedModel":"gpt-5.5"}`),
	})
}

// serve admits and settles a request that cost a cent.
func (d *deployment) serve(o *objects, p *project, k *doc.Key, id string) {
	model := models[d.random.IntN(len(models))]
	admit := keymeter.Admit{RequestID: id, Version: 2, Mode: keymeter.ModeReserve, Model: model, AmountPico: money.Cent, LifetimeMs: 60_000}
	if d.random.IntN(violationShare) == 0 {
		d.report.Violations++
		admit.Violations = []ledger.Violation{{
			AtMs: o.now, RequestID: id, Rule: "secret.github-token", Category: "secret", Severity: "high", Decision: "redact", Model: model,
			Path: "messages[0].content", End: 40, Risk: 40, Policy: 1, Count: 1,
		}}
	}
	reply := d.admit(o, k, &admit)
	if reply.Verdict == keymeter.Short {
		grant := ledger.Grant{Key: k.Hash, Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico}
		granted, err := ledger.DecodeGrantReply(o.call(abi.ClassLedger, p.ID, grant.Encode()))
		check(err)
		admit.Grant = keymeter.Grant{Period: granted.Period, Epoch: granted.Epoch, TotalPico: granted.TotalPico}
		reply = d.admit(o, k, &admit)
	}
	if reply.Verdict != keymeter.Admitted {
		return
	}
	settle := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: model, Tokens: keymeter.Tokens{Prompt: 800, Completion: 200}, CostPico: money.Cent / 4,
		Trace: keymeter.Trace{Provider: "openai", Agent: "openai-python/2.9.0", Status: 200, DurationMs: 300 + d.random.Uint64N(3000), Cache: ledger.CacheMiss},
	}
	o.call(abi.ClassKeyMeter, k.Hash, settle.Encode())
}

func (d *deployment) admit(o *objects, k *doc.Key, a *keymeter.Admit) keymeter.AdmitReply {
	reply, err := keymeter.DecodeAdmitReply(o.call(abi.ClassKeyMeter, k.Hash, a.Encode()))
	check(err)
	return reply
}
