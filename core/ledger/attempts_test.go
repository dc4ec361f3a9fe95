package ledger_test

import (
	"bytes"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

var failedUsage = ledger.Usage{
	Day: today, Hour: 8, Model: "failing", Requests: 1, CostPico: 5,
	Attempts: ledger.Attempts{Failed: [ledger.Causes]uint64{ledger.CauseBusy: 3, ledger.CauseBroken: 1}, Rescued: 2},
}

// TestAttempts checks that failed attempts reach every grouping, alongside usage with and without prompt cache
// figures.
func TestAttempts(t *testing.T) {
	b := newHarness(t)
	b.absorb(plainUsage, cachedUsage, failedUsage)
	b.absorb(failedUsage)
	byModel := failedUsage
	byModel.Day, byModel.Hour = 0, 0
	byModel.Plus(&byModel)
	query := ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel, Model: "failing"}
	b.expectGroups(query, ledger.Group{Usage: byModel})
	report := ledger.Report{FirstDay: today, EndDay: today + 1, Final: true}
	r, err := ledger.DecodeReportReply(b.call(report.Encode()))
	if err != nil || len(r.Models) != 3 || r.Models[1].Attempts != byModel.Attempts {
		t.Errorf("%v %+v", err, r.Models)
	}
	query = ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByHour}
	hours, err := ledger.DecodeQueryReply(b.call(query.Encode()))
	if err != nil || len(hours.Groups) != 1 || hours.Groups[0].Usage.Attempts != byModel.Attempts {
		t.Errorf("%v %+v", err, hours)
	}
}

// TestAttemptRows checks that only rows with failed attempts have the newer format, so that an older version can read
// the others.
func TestAttemptRows(t *testing.T) {
	b := newHarness(t)
	b.absorb(plainUsage)
	row := "u/" + abi.Fixed(today) + "/plain"
	if b.Rows[row][0] != 2 {
		t.Fatalf("format %d, want 2", b.Rows[row][0])
	}
	more := plainUsage
	more.Attempts.Failed[ledger.CauseTimeout] = 1
	b.absorb(more)
	if b.Rows[row][0] != 4 {
		t.Errorf("format %d, want 4", b.Rows[row][0])
	}
	cached := cachedUsage
	cached.Model = "plain"
	b.absorb(cached)
	want := ledger.Usage{Model: "plain", Requests: 3, Prompt: 300, CostPico: 15, PromptCache: cached.PromptCache, Attempts: more.Attempts}
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel}, ledger.Group{Usage: want})
}

// TestExtras checks that figures are written only if needed, and that every combination of them can be read back. A
// section without figures is refused.
func TestExtras(t *testing.T) {
	cached := ledger.Usage{PromptCache: ledger.PromptCache{Read: 80, SavedPico: money.Cent}}
	failed := ledger.Usage{Attempts: ledger.Attempts{Rescued: 1}}
	both := ledger.Usage{PromptCache: cached.PromptCache, Attempts: failed.Attempts}
	for i, list := range [][]ledger.Usage{{}, {{}}, {cached, {}}, {{}, failed}, {cached, failed}, {both, {}}} {
		at := func(list []ledger.Usage) func(int) *ledger.Usage {
			return func(i int) *ledger.Usage { return &list[i] }
		}
		var w abi.Writer
		ledger.Extras(abi.WriteTo(&w), len(list), at(list))
		if empty := len(w.Buf) == 0; empty != (i < 2) {
			t.Errorf("%d: %x", i, w.Buf)
		}
		got, r := make([]ledger.Usage, len(list)), abi.Reader{Buf: w.Buf}
		ledger.Extras(abi.ReadFrom(&r), len(list), at(got))
		if r.End() != nil {
			t.Errorf("%d: %x is malformed", i, w.Buf)
		}
		for j := range list {
			if got[j] != list[j] {
				t.Errorf("%d: %+v, want %+v", i, got[j], list[j])
			}
		}
	}
	for _, bad := range [][]byte{{0}, {0, 0}, {1, 1, 1, 1, 0}, {0, 1, 0, 0}, {0, 1, 0xff, 1}, {0, 1, 0x80, 0x04, 1, 1}} {
		r := abi.Reader{Buf: bytes.Clone(bad)}
		if ledger.Extras(abi.ReadFrom(&r), 1, func(int) *ledger.Usage { return &ledger.Usage{} }); r.End() == nil {
			t.Errorf("%x was accepted", bad)
		}
	}
}
