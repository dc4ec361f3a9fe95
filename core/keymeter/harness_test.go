package keymeter_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

const (
	today = 20_778 // 2026-11-21
	start = today*calendar.DayMs + 8*calendar.HourMs
)

var plans = func() *config.Config {
	const overlay = `{"plans":[
		{"name":"counted","perSecond":4,"perDay":100,"tokensPerMinute":1000,"concurrent":1000,"budget":"1"},
		{"name":"wide","perSecond":0,"perDay":0,"concurrent":1000,"budget":"1"},
		{"name":"few","perSecond":0,"perDay":0,"concurrent":2,"budget":"1"},
		{"name":"lending","perSecond":0,"perDay":0,"concurrent":1000,"budget":"1","lease":{"ms":2000,"requests":512}},
		{"name":"lending-by-second","perSecond":1000,"perDay":0,"concurrent":1000,"budget":"1","lease":{"ms":2000,"requests":64}},
		{"name":"lending-by-day","perSecond":0,"perDay":200,"concurrent":1000,"budget":"1","lease":{"ms":2000,"requests":64}},
		{"name":"lending-with-tokens","perSecond":0,"perDay":0,"tokensPerMinute":1000,"concurrent":1000,"budget":"1","lease":{"ms":2000,"requests":64}},
		{"name":"lending-to-few","perSecond":0,"perDay":0,"concurrent":40,"budget":"1","lease":{"ms":2000,"requests":64}}]}`
	parsed, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: config.EnvCatalog, Value: overlay}}})
	if wrong != "" {
		panic(wrong)
	}
	return parsed
}()

// key is a test harness: one KeyMeter with its own clock.
type key struct {
	*testing.T
	*testobject.Object
	now      uint64
	count    int
	absorbed int // batches that the ledger received before the test
	flushed  int // batches that flush has returned
}

func newKey(t *testing.T, record doc.Record) *key {
	both := &keeping{T: t}
	k := &key{T: t, now: start, Object: &testobject.Object{Class: abi.ClassKeyMeter, Name: "hash", Reads: both.reads, Apply: both.apply}}
	if record.Version > 0 {
		k.put(doc.Active, record)
	}
	return k
}

// record returns a key record on a plan.
func record(plan string) doc.Record {
	return doc.Record{Version: 2, KeyID: "key_1", ProjectID: "proj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: plan}
}

func (k *key) call(command []byte) []byte {
	k.Helper()
	reply, err := k.Call(k.now, command)
	if err != nil {
		k.Fatal(err)
	}
	return reply
}

func (k *key) put(status doc.Status, r doc.Record) {
	k.Helper()
	command := keymeter.Put{Status: status, Record: r}
	k.call(command.Encode())
}

func (k *key) admit(a keymeter.Admit) keymeter.AdmitReply {
	k.Helper()
	if a.RequestID == "" {
		k.count++
		a.RequestID = fmt.Sprint("req_", k.count)
	}
	a.Version, a.Model, a.LifetimeMs = 1<<40, "m", 60_000
	reply, err := keymeter.DecodeAdmitReply(k.call(a.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply
}

// mustAdmit admits a request that reserves an amount. If the slice is too small, it grants the missing amount.
func (k *key) mustAdmit(id string, amount money.Pico) {
	k.Helper()
	a := keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: amount}
	reply := k.admit(a)
	if reply.Verdict == keymeter.Short {
		a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.HeldPico + reply.NeedPico}
		reply = k.admit(a)
	}
	if reply.Verdict != keymeter.Admitted {
		k.Fatalf("%s: verdict %d, want Admitted", id, reply.Verdict)
	}
}

func (k *key) settle(id string, tokens uint64, cost money.Pico) {
	k.Helper()
	command := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: "m", Tokens: keymeter.Tokens{Prompt: tokens - tokens/2, Completion: tokens / 2}, CostPico: cost,
		Trace: keymeter.Trace{Provider: "openai", Status: 200, DurationMs: 7},
	}
	k.call(command.Encode())
}

// serve admits and settles a request of the given number of tokens.
func (k *key) serve(tokens uint64) {
	k.Helper()
	k.count++
	id := fmt.Sprint("req_", k.count)
	k.mustAdmit(id, 0)
	k.settle(id, tokens, 0)
}

// check admits in ModeCheck, which does not count against any limit.
func (k *key) check() keymeter.AdmitReply {
	k.Helper()
	return k.admit(keymeter.Admit{Mode: keymeter.ModeCheck})
}

// tokenWindow returns the state of the token limit.
func (k *key) tokenWindow() keymeter.Window {
	k.Helper()
	for _, w := range k.check().Windows {
		if w.Tokens {
			return w
		}
	}
	k.Fatal("the key has no token limit")
	return keymeter.Window{}
}

// ledgerWithReports returns a ledger that has received all of the meter's pending reports.
func (k *key) ledgerWithReports() *testobject.Object {
	k.Helper()
	flush := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	project := &testobject.Object{Class: abi.ClassLedger, Name: "proj_1", Reads: ledger.Reads, Apply: ledger.Apply}
	put := ledger.Put{Version: 1, BudgetPico: money.Dollar, Period: calendar.NewPeriod(calendar.Monthly, 0, today)}
	commands := [][]byte{put.Encode()}
	for i := range k.absorbed {
		empty := ledger.Absorb{Key: "hash", Seq: uint64(i) + 1}
		commands = append(commands, empty.Encode())
	}
	for _, command := range append(commands, ledger.Batch(reply.Absorbs)) {
		if _, err := project.Call(k.now, command); err != nil {
			k.Fatal(err)
		}
	}
	return project
}

func (k *key) reportedUsage() (total ledger.Usage) {
	k.Helper()
	for _, u := range k.reportedUsages() {
		total.Plus(&u)
	}
	return total
}

func (k *key) reportedUsages() (models []ledger.Usage) {
	k.Helper()
	query := ledger.Query{EndDay: 1 << 40, By: ledger.ByModel}
	reply, err := k.ledgerWithReports().Call(k.now, query.Encode())
	if err != nil {
		k.Fatal(err)
	}
	groups, err := ledger.DecodeQueryReply(reply)
	if err != nil {
		k.Fatal(err)
	}
	for _, g := range groups.Groups {
		models = append(models, g.Usage)
	}
	return models
}

// recent returns the requests that the meter reports, oldest first.
func (k *key) recent() (requests []ledger.Request) {
	k.Helper()
	query := ledger.Recent{Limit: 1000}
	reply, err := k.ledgerWithReports().Call(k.now, query.Encode())
	if err != nil {
		k.Fatal(err)
	}
	batches, err := ledger.DecodeRecent(reply)
	if err != nil {
		k.Fatal(err)
	}
	for i := len(batches) - 1; i >= 0; i-- {
		requests = append(requests, batches[i].Requests...)
	}
	return requests
}
