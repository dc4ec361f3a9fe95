package controltest

import (
	"fmt"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Booked is an amount of usage that a test reports.
type Booked struct {
	Day, Hour      uint64
	Key, Model     string
	Requests, Pico uint64
}

// Today is the number of the bench's current day.
const Today = 20_778

// Absorb reports usage to the ledger. Each key's usage comes from its own meter.
func (b *Bench) Absorb(path string, all []Booked) {
	b.Helper()
	seqs := map[string]uint64{}
	for _, u := range all {
		seqs[u.Key]++
		usage := ledger.Usage{
			Day: u.Day, Hour: u.Hour, Model: u.Model, Requests: u.Requests, Misses: u.Requests, Prompt: 10 * u.Requests,
			Completion: u.Requests, CostPico: int64(u.Pico), PromptCache: u.PromptCache(), Attempts: u.Attempts(),
		}
		for range u.Requests {
			usage.Latency.Add(40)
		}
		command := ledger.Absorb{Key: "meter of " + u.Key, KeyID: u.Key, Seq: seqs[u.Key], Usage: []ledger.Usage{usage}}
		b.Ask(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:], command.Encode())
	}
}

// PromptCache returns what the requests read, wrote and saved. The savings are negative if few requests cost a lot.
func (u *Booked) PromptCache() ledger.PromptCache {
	return ledger.PromptCache{Read: 3 * u.Requests, Written: 2 * u.Requests, SavedPico: 20*int64(money.Cent/10)*int64(u.Requests) - int64(u.Pico)}
}

// Attempts returns the failed attempts of the requests.
func (u *Booked) Attempts() (a ledger.Attempts) {
	a.Failed[ledger.CauseBusy], a.Failed[ledger.CauseBroken], a.Rescued = 2*u.Requests, 3*u.Requests, u.Requests
	return a
}

// OutcomesText is the API's representation of outcomes when all requests were served.
const OutcomesText = `"outcomes":{"served":%d,"refused":0,"failed":0,"left":0,"causes":{}}`

// AttemptsText returns the API's representation of the attempts and outcomes of a number of requests.
func AttemptsText(requests uint64) string {
	return fmt.Sprintf(`"attempts":{"total":%d,"failed":{"busy":%d,"rejected":0,"unavailable":0,"timeout":0,"connection":0,"cut":0,"unusable":0,"broken":%d},"rescued":%d,"opened":0},`+OutcomesText,
		3*requests, 2*requests, 3*requests, requests, requests)
}

// DayOf returns the date of a day.
func DayOf(day uint64) string { return time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly) }

// Tally reports requests of a project that were not served.
func (b *Bench) Tally(project string, t ledger.Tally) {
	b.Helper()
	b.Ask(abi.ClassLedger, project[strings.LastIndex(project, "/")+1:], t.Encode())
}

// Violate reports a current violation to a project's ledger, and returns its ID in the API. Fields that are not set
// have defaults.
func (b *Bench) Violate(project string, v ledger.Violation) string {
	b.Helper()
	if v.AtMs == 0 {
		v.AtMs = b.Memory.NowMs()
	}
	for _, text := range []struct {
		field    *string
		fallback string
	}{{&v.Category, "secret"}, {&v.Severity, "high"}, {&v.Decision, "review"}, {&v.Model, "gpt-4.1"}, {&v.RequestID, "req_1"}, {&v.Path, "messages[0].content"}} {
		if *text.field == "" {
			*text.field = text.fallback
		}
	}
	v.Count = max(v.Count, 1)
	of := b.Memory.Object(abi.ClassLedger, strings.TrimPrefix(project, "/api/admin/projects/"))
	group := ledger.ViolationGroup{FirstMs: v.AtMs, Violation: v}
	// Each violation has its own meter, which sends its first batch.
	batch := ledger.Absorb{Key: fmt.Sprint("meter", len(of.Rows)), KeyID: TestKeyID, Seq: 1, Violations: []ledger.ViolationGroup{group}}
	if _, err := of.Call(b.Memory.NowMs(), batch.Encode()); err != nil {
		b.Fatal(err)
	}
	list := ledger.Violations{Limit: 1, FromMs: v.AtMs, ToMs: v.AtMs + 1, Rule: v.Rule}
	reply, err := of.Call(b.Memory.NowMs(), list.Encode())
	if err != nil {
		b.Fatal(err)
	}
	page, err := ledger.DecodeViolations(reply)
	if err != nil || len(page.Violations) != 1 {
		b.Fatalf("%v %+v", err, page)
	}
	return kernel.ViolationPrefix + page.Violations[0].ID
}

// Spend makes one of the project's meters report a cost to the ledger.
func (b *Bench) Spend(project, meter, keyID, model string, seq uint64, cost money.Pico) {
	b.Helper()
	now := uint64(b.Now.UnixMilli())
	u := ledger.Usage{Day: now / 86400_000, Hour: now % 86400_000 / 3600_000, Model: model, Requests: 1, CostPico: cost}
	u.Latency.Add(40)
	absorb := ledger.Absorb{Key: meter, KeyID: keyID, Seq: seq, Usage: []ledger.Usage{u}}
	name := strings.TrimPrefix(project, "/api/admin/projects/")
	if _, err := b.Memory.Call(b.Context(), abi.ClassLedger, name, "", absorb.Encode()); err != nil {
		b.Fatal(err)
	}
}

// Budget returns a project's budget from its usage report.
func (b *Bench) Budget(path string) string {
	b.Helper()
	got := b.Must(200, "GET", path+"/usage", "")
	text, err := kernel.Encode(got.Fields["budget"])
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// Request makes a key's meter admit and settle a request. If necessary, the meter first gets a grant from the ledger.
func (b *Bench) Request(project, value, id string, cost money.Pico) {
	b.Helper()
	b.Reserve(project, value, id, cost)
	b.Settle(value, id, cost)
}

// Reserve admits a request at its meter.
func (b *Bench) Reserve(project, value, id string, cost money.Pico) {
	b.Helper()
	hash := keys.Hash(value)
	admit := keymeter.Admit{RequestID: id, Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "m", AmountPico: cost, LifetimeMs: 60_000}
	reply := b.admit(hash, &admit)
	if reply.Verdict == keymeter.Short {
		grant := ledger.Grant{Key: hash, Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico}
		given, err := ledger.DecodeGrantReply(b.Ask(abi.ClassLedger, strings.TrimPrefix(project, "/api/admin/projects/"), grant.Encode()))
		if err != nil || !given.Granted {
			b.Fatalf("%v, the ledger replied %+v", err, given)
		}
		admit.Grant = keymeter.Grant{Period: given.Period, Epoch: given.Epoch, TotalPico: given.TotalPico}
		reply = b.admit(hash, &admit)
	}
	if reply.Verdict != keymeter.Admitted {
		b.Fatalf("%s: verdict %d", id, reply.Verdict)
	}
}

// Settle ends a request at its meter.
func (b *Bench) Settle(value, id string, cost money.Pico) {
	b.Helper()
	settle := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: "m", CostPico: cost, Tokens: keymeter.Tokens{Prompt: 3, Completion: 4},
		Trace: keymeter.Trace{Provider: "openai", Status: 200, DurationMs: 40},
	}
	b.Ask(abi.ClassKeyMeter, keys.Hash(value), settle.Encode())
}

func (b *Bench) admit(hash string, a *keymeter.Admit) keymeter.AdmitReply {
	b.Helper()
	reply, err := keymeter.DecodeAdmitReply(b.Ask(abi.ClassKeyMeter, hash, a.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// Ask sends a command to an object.
func (b *Bench) Ask(class abi.Class, name string, command []byte) []byte {
	b.Helper()
	reply, err := b.Memory.Call(b.Context(), class, name, "", command)
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// TestKeyID is the ID of the key whose requests have violations.
const TestKeyID = "key_0123456789ab"

// Summarize moves the bench's clock to the alarms that a project's Ledger has set within the next minute, and runs
// them. Then it delivers the summaries to the deployment's Ledger.
func (b *Bench) Summarize(project string) {
	b.Helper()
	l := b.Memory.Object(abi.ClassLedger, project[strings.LastIndex(project, "/")+1:])
	for soon := uint64(60_000); l.AlarmMs != 0 && l.AlarmMs <= b.Memory.NowMs()+soon; soon = 5_000 {
		b.Now = time.UnixMilli(int64(max(l.AlarmMs, b.Memory.NowMs())))
		if _, err := l.Ring(b.Memory.NowMs()); err != nil {
			b.Fatal(err)
		}
		rows, deliveries, err := l.Outbox()
		if err != nil {
			b.Fatal(err)
		}
		for i, d := range deliveries {
			b.Ask(d.Class, d.Name, d.Data)
			l.Delete(rows[i])
		}
	}
}
