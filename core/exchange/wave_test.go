package exchange_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/transcript"
)

// TestFirstWaveIsSmall checks that a request in a tree that needs 1000 picodollars first recalls only as many meters as
// hold that much. It continues after the last of them.
func TestFirstWaveIsSmall(t *testing.T) {
	for _, c := range []struct {
		held   []int64 // by the meters of the Ledger's page, from meter-0
		meters int
		after  string
	}{
		{[]int64{1000, 1000, 1000}, 1, "meter-0"},
		{[]int64{999, 1, 1000}, 2, "meter-1"},
		{[]int64{600, 600, 600}, 2, "meter-1"},
		{[]int64{1, 1, 1}, 3, "next"},
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 8, "meter-7"},
	} {
		page := ledger.GrantReply{Next: "next"}
		for i, held := range c.held {
			page.Recall, page.HeldPico = append(page.Recall, fmt.Sprint("meter-", i)), append(page.HeldPico, held)
		}
		r := request{
			path: "/v1/chat/completions", body: chatCompletion("gpt", 1, `,"max_tokens":100`), record: inGroup,
			verdicts: []*keymeter.AdmitReply{shortAt(0), shortAt(0)}, grants: []ledger.GrantReply{page, page},
		}
		h := r.run(t)
		equal(t, "status", h.status(), 402)
		meters, after := 0, ""
		for _, a := range h.all(abi.ActionCall) {
			switch command := transcript.Open(&a).(type) {
			case *keymeter.Flush:
				meters++
			case *ledger.Grant:
				after = cmp.Or(after, command.After)
			}
		}
		if meters != c.meters || after != c.after {
			t.Errorf("%d: recalled %d meters, continued after %q; want %d and %q", c.held, meters, after, c.meters, c.after)
		}
	}
}

// TestCallsAreCounted checks that a request gives up only when a denied Grant, a recall, a report, a Grant, an Admit and
// the release would be more than 40 calls: after 2 Admits and 34 Grants, it makes one more call, which releases what it
// has reserved.
func TestCallsAreCounted(t *testing.T) {
	r := request{path: "/v1/chat/completions", body: chatCompletion("gpt", 1, `,"max_tokens":100`), record: inGroup}
	r.verdicts = []*keymeter.AdmitReply{shortAt(0), shortAt(0)}
	for page := range 60 {
		r.grants = append(r.grants, recallOf(page, 0))
	}
	h := r.run(t)
	equal(t, "status", h.status(), 503)
	equal(t, "calls", len(h.all(abi.ActionCall)), 37)
}
