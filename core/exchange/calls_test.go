package exchange_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// inGroup puts a key below the deployment's budget and a group's.
func inGroup(r *doc.Record) { r.Chain = []doc.Node{{ID: "root"}, {ID: "grp_1"}} }

// shortAt returns a meter's reply that a group's level lacks budget.
func shortAt(lentMs uint64) *keymeter.AdmitReply {
	return &keymeter.AdmitReply{Verdict: keymeter.Short, LentMs: lentMs, Levels: []keymeter.ShortLevel{
		{Ledger: "grp_1", Period: period, Epoch: epoch, NeedPico: 1000, LeastPico: 1000},
	}}
}

// recallOf returns a Ledger's reply that names meters with idle slices, always others.
func recallOf(page, meters int) (g ledger.GrantReply) {
	for i := range meters {
		g.Recall, g.HeldPico = append(g.Recall, fmt.Sprintf("meter-%03d-%02d", page, i)), append(g.HeldPico, 1)
	}
	g.Next = fmt.Sprintf("meter-%03d-99", page)
	return g
}

// TestCallsForBudgetAreBounded checks that a request in a tree makes at most 40 calls of objects. After that, it gets a
// 503 with a Retry-After.
func TestCallsForBudgetAreBounded(t *testing.T) {
	for _, c := range []struct {
		what   string
		lentMs uint64
		grant  func(page int) ledger.GrantReply
	}{
		{"Ledgers that always recall 32 meters", 0, func(page int) ledger.GrantReply { return recallOf(page, 32) }},
		{"Ledgers that always recall one meter", 0, func(page int) ledger.GrantReply { return recallOf(page, 1) }},
		{"Ledgers that always continue with the next page", 0, func(page int) ledger.GrantReply { return recallOf(page, 0) }},
		{"grants that another request always takes first", 0, func(int) ledger.GrantReply {
			return ledger.GrantReply{Granted: true, Period: period, Epoch: epoch, TotalPico: 1000}
		}},
		{"pages and reservations of other requests", 1500, func(page int) ledger.GrantReply {
			if page%8 == 0 {
				return ledger.GrantReply{}
			}
			return recallOf(page%8, 0)
		}},
	} {
		r := request{path: "/v1/chat/completions", body: chatCompletion("gpt", 1, `,"max_tokens":100`), record: inGroup}
		for page := range 60 {
			r.verdicts, r.grants = append(r.verdicts, shortAt(c.lentMs)), append(r.grants, c.grant(page))
		}
		h := r.run(t)
		equal(t, "status with "+c.what, h.status(), 503)
		if n := len(h.all(abi.ActionCall)); n > 40 || n < 36 || h.header("retry-after") == "" {
			t.Errorf("%s: %d calls, retry-after %q", c.what, n, h.header("retry-after"))
		}
	}
}
