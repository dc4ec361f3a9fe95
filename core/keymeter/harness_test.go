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
	"github.com/postern-ai/postern/internal/testobject"
)

const (
	today = 20_778 // 2026-11-21
	start = today*calendar.DayMs + 8*calendar.HourMs
)

var plans = func() *config.Config {
	const overlay = `{"plans":[
		{"name":"counted","perSecond":4,"perDay":100,"tokensPerMinute":1000,"concurrent":1000,"budget":"1"},
		{"name":"wide","perSecond":0,"perDay":0,"concurrent":1000,"budget":"1"},
		{"name":"few","perSecond":0,"perDay":0,"concurrent":2,"budget":"1"}]}`
	parsed, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: config.EnvCatalog, Value: overlay}}})
	if wrong != "" {
		panic(wrong)
	}
	return parsed
}()

// key is a meter on a clock of its own.
type key struct {
	*testing.T
	*testobject.Object
	now      uint64
	count    int
	absorbed int // batches that the ledger has had before the test
	flushed  int // batches that the test has seen
}

func newKey(t *testing.T, record doc.Record) *key {
	k := &key{T: t, now: start, Object: &testobject.Object{Class: abi.ClassKeyMeter, Name: "hash", Reads: keymeter.Reads, Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		return keymeter.Apply(plans, in)
	}}}
	if record.Version > 0 {
		k.put(doc.Active, record)
	}
	return k
}

// record is the first version of a record on a plan.
func record(plan string) doc.Record {
	return doc.Record{Version: 2, KeyID: "key_1", ProjectID: "proj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: plan}
}

func (k *key) do(command []byte) []byte {
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
	k.do(command.Encode())
}

func (k *key) admit(a keymeter.Admit) keymeter.AdmitReply {
	k.Helper()
	if a.RequestID == "" {
		k.count++
		a.RequestID = fmt.Sprint("req_", k.count)
	}
	a.Version, a.Model, a.ExpiresMs = 1<<40, "m", 60_000
	reply, err := keymeter.DecodeAdmitReply(k.do(a.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply
}

// enter admits a request that reserves money, of which there is as much as it wants.
func (k *key) enter(id string, amount money.Pico) {
	k.Helper()
	a := keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: amount}
	reply := k.admit(a)
	if reply.Verdict == keymeter.Short {
		a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.HeldPico + reply.NeedPico}
		reply = k.admit(a)
	}
	if reply.Verdict != keymeter.Admitted {
		k.Fatalf("%s got verdict %d", id, reply.Verdict)
	}
}

func (k *key) settle(id string, tokens uint64, cost money.Pico) {
	k.Helper()
	command := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: "m", Tokens: keymeter.Tokens{Prompt: tokens - tokens/2, Completion: tokens / 2}, CostPico: cost,
		Trace: keymeter.Trace{Provider: "openai", Status: 200, DurationMs: 7},
	}
	k.do(command.Encode())
}

// use is a request of so many tokens, from its admission to its settlement.
func (k *key) use(tokens uint64) {
	k.Helper()
	k.count++
	id := fmt.Sprint("req_", k.count)
	k.enter(id, 0)
	k.settle(id, tokens, 0)
}

// check asks without using anything up.
func (k *key) check() keymeter.AdmitReply {
	k.Helper()
	return k.admit(keymeter.Admit{Mode: keymeter.ModeCheck})
}

// window is the state of the limit on tokens.
func (k *key) window() keymeter.Window {
	k.Helper()
	for _, w := range k.check().Windows {
		if w.Tokens {
			return w
		}
	}
	k.Fatal("no limit on tokens")
	return keymeter.Window{}
}

// batches are the reports that wait for the ledger, as the ledger would have them.
func (k *key) batches() *testobject.Object {
	k.Helper()
	flush := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.do(flush.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	book := &testobject.Object{Class: abi.ClassLedger, Name: "proj_1", Reads: ledger.Reads, Apply: ledger.Apply}
	put := ledger.Put{Version: 1, BudgetPico: money.Dollar, Period: calendar.NewPeriod(calendar.Monthly, 0, today)}
	commands := [][]byte{put.Encode()}
	for i := range k.absorbed {
		empty := ledger.Absorb{Key: "hash", Seq: uint64(i) + 1}
		commands = append(commands, empty.Encode())
	}
	for _, command := range append(commands, ledger.Batch(reply.Absorbs)) {
		if _, err := book.Call(k.now, command); err != nil {
			k.Fatal(err)
		}
	}
	return book
}

// reported is all usage that the meter reports, in one sum.
func (k *key) reported() ledger.Usage {
	k.Helper()
	question := ledger.Query{EndDay: 1 << 40, By: ledger.ByModel}
	reply, err := k.batches().Call(k.now, question.Encode())
	if err != nil {
		k.Fatal(err)
	}
	groups, err := ledger.DecodeQueryReply(reply)
	if err != nil {
		k.Fatal(err)
	}
	var sum ledger.Usage
	for i := range groups.Groups {
		sum.Plus(&groups.Groups[i].Usage)
	}
	return sum
}

// recent are the requests that the meter reports, oldest first.
func (k *key) recent() (requests []ledger.Request) {
	k.Helper()
	question := ledger.Recent{Limit: 1000}
	reply, err := k.batches().Call(k.now, question.Encode())
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
