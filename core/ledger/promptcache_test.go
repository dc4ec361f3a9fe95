package ledger_test

import (
	"bytes"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// cachedUsage and plainUsage are usage of two models today, with and without a prompt cache.
var (
	cachedUsage = ledger.Usage{Day: today, Hour: 8, Model: "cached", Requests: 1, Prompt: 100, CostPico: 5, PromptCache: ledger.PromptCache{Read: 80, Written: 10, SavedPico: -7}}
	plainUsage  = ledger.Usage{Day: today, Hour: 8, Model: "plain", Requests: 1, Prompt: 100, CostPico: 5}
)

// TestPromptCacheInUsage checks that usage by model, day, hour and key has the prompt cache figures and their sums.
func TestPromptCacheInUsage(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.absorb(plainUsage)
	b.absorb(cachedUsage)
	b.absorb(cachedUsage)
	twice, all := cachedUsage, cachedUsage
	twice.Plus(&cachedUsage)
	twice.Hour = 0
	all.Plus(&cachedUsage)
	all.Plus(&plainUsage)
	if want := (ledger.PromptCache{Read: 160, Written: 20, SavedPico: -14}); twice.PromptCache != want {
		t.Errorf("%+v", twice)
	}
	plain := plainUsage
	plain.Day, plain.Hour = 0, 0
	byModel := twice
	byModel.Day = 0
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel}, ledger.Group{Usage: byModel}, ledger.Group{Usage: plain})
	all.Model, all.Hour = "", 0
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDay}, ledger.Group{Usage: all})
	all.Hour = 8
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByHour}, ledger.Group{Usage: all})
	report := ledger.Report{FirstDay: today, EndDay: today + 1, Final: true}
	if r, err := ledger.DecodeReportReply(b.call(report.Encode())); err != nil || len(r.Models) != 2 || r.Models[0] != byModel || r.Models[1] != plain {
		t.Errorf("%v %+v", err, r.Models)
	}
}

// TestPromptCacheRows checks that only usage with prompt cache figures has the newer format, so that an older version
// can read the rest. A row gets that format when the first such request is added.
func TestPromptCacheRows(t *testing.T) {
	b := newHarness(t)
	b.absorb(plainUsage)
	same := cachedUsage
	same.Model = "plain"
	row := "u/" + abi.Fixed(today) + "/plain"
	var old abi.Writer
	old.Uint(2)
	ledger.UsageFields(abi.WriteTo(&old), &ledger.Usage{Day: today, Model: "plain", Requests: 1, Prompt: 100, CostPico: 5})
	if !bytes.Equal(b.Rows[row], old.Buf) {
		t.Errorf("got %x, want %x", b.Rows[row], old.Buf)
	}
	b.absorb(same)
	if b.Rows[row][0] != 3 {
		t.Errorf("format %d, want 3", b.Rows[row][0])
	}
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel}, ledger.Group{Usage: ledger.Usage{
		Model: "plain", Requests: 2, Prompt: 200, CostPico: 10, PromptCache: cachedUsage.PromptCache,
	}})
}

// TestPromptCacheOfRequests checks that the list of recent requests has the figures, and that requests without them
// keep the old layout.
func TestPromptCacheOfRequests(t *testing.T) {
	requests := []ledger.Request{
		{AtMs: start, ID: "req_1", Estimated: true, PromptCache: ledger.PromptCache{Read: 80, SavedPico: money.Cent}}, {AtMs: start, ID: "req_2", Estimated: true}, {AtMs: start, ID: "req_3"},
		{AtMs: start, ID: "req_4", PromptCache: ledger.PromptCache{Written: 6, SavedPico: -money.Cent}},
	}
	b := newHarness(t)
	batch := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Recent: requests}
	b.call(batch.Encode())
	recent := ledger.Recent{Limit: 1}
	batches, err := ledger.DecodeRecent(b.call(recent.Encode()))
	if err != nil || len(batches) != 1 || len(batches[0].Requests) != len(requests) {
		t.Fatalf("%v %+v", err, batches)
	}
	for i := range requests {
		if got := batches[0].Requests[i]; got != requests[i] {
			t.Errorf("%+v, want %+v", got, requests[i])
		}
	}
	for i, last := range map[int]byte{1: 1, 2: 0} {
		var w abi.Writer
		ledger.RequestFields(abi.WriteTo(&w), &requests[i])
		if w.Buf[len(w.Buf)-1] != last {
			t.Errorf("%x does not end with the flag", w.Buf)
		}
	}
}

// TestMalformedPromptCache checks that empty or truncated figures are errors.
func TestMalformedPromptCache(t *testing.T) {
	plain := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{plainUsage}, Recent: []ledger.Request{{ID: "r"}}}
	cached := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{cachedUsage}}
	whole := cached.Encode()
	row := append([]byte{3}, make([]byte, 17)...)
	for name, command := range map[string][]byte{
		"no figures": append(plain.Encode(), 0), "figures of nothing": append(plain.Encode(), 1, 0, 0, 0), "too many": append(plain.Encode(), 1, 1, 1, 1, 0),
		"cut off": whole[:len(whole)-1], "no flag": append(plain.Encode(), 2, 1, 1, 1),
	} {
		b := newHarness(t)
		if reply, err := b.Call(b.now, command); err == nil {
			t.Errorf("%s: accepted %x: %x", name, command, reply)
		}
	}
	b := newHarness(t)
	b.absorb(plainUsage)
	b.Rows["u/"+abi.Fixed(today)+"/plain"] = row
	query := ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel}
	if reply, err := b.Call(b.now, query.Encode()); err == nil {
		t.Errorf("decoded a row with figures of nothing: %x", reply)
	}
}
