package ledger_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// TestMovedRows checks which rows of a Ledger may move to another deployment, that rows that every command reads must be
// well-formed, and which nodes a Ledger sends usage to.
func TestMovedRows(t *testing.T) {
	f := newFamily(t, path(1, "root", "grp_1"), path(2, "root", "~grp_2"))
	f.put(5, month(), hook)
	f.absorb(use(1, today, "a", 5))
	f.pass(60_000)
	var nodes []string
	stays := 0
	for key, value := range f.Rows {
		row := abi.Row{Key: key, Value: value}
		if ledger.MovesNot(row) {
			stays++
			continue
		}
		if err := ledger.CheckMoved(row); err != nil && key[:2] != abi.OutboxPrefix {
			t.Errorf("%s: %v", key, err)
		}
		nodes = append(nodes, ledger.MovedNodes(row)...)
	}
	if slices.Sort(nodes); !slices.Equal(nodes, []string{"grp_1", "grp_2", "root", "root"}) {
		t.Errorf("the nodes are %q", nodes)
	}
	if stays == 0 {
		t.Error("the summary for the deployment may move")
	}
	for _, key := range []string{"b", "p", "up", "k/meter", "o/1", "unknown"} {
		if ledger.CheckMoved(abi.Row{Key: key, Value: []byte{99}}) == nil {
			t.Errorf("%s may have any content", key)
		}
	}
	if err := ledger.CheckMoved(abi.Row{Key: "p"}); err != nil {
		t.Errorf("a group needs a policy: %v", err)
	}
	if got := ledger.MovedNodes(abi.Row{Key: "up", Value: []byte{99}}); len(got) > 0 {
		t.Errorf("a malformed row has the nodes %q", got)
	}
}

// TestGrantToLend checks a Grant that needs nothing and wants budget to lend: it gets a 64th of the budget at a time, the
// same again if the meter does not have it yet, and nothing if little is left.
func TestGrantToLend(t *testing.T) {
	b := newHarness(t)
	b.put(64, month(), doc.Alerts{})
	ask := func(key string, held, need, want int64) int64 {
		t.Helper()
		g := ledger.Grant{Key: key, Period: month(), Epoch: 1, HeldPico: held * money.Dollar, NeedPico: need * money.Dollar, LeastPico: need * money.Dollar, WantPico: want * money.Dollar}
		reply, err := ledger.DecodeGrantReply(b.call(g.Encode()))
		if err != nil || !reply.Granted {
			t.Fatalf("%v %+v", err, reply)
		}
		return reply.TotalPico / money.Dollar
	}
	equal := func(got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%d dollars are granted, want %d", got, want)
		}
	}
	equal(ask("a", 0, 0, 5), 1)
	equal(ask("a", 0, 0, 5), 1)
	equal(ask("a", 1, 0, 5), 2)
	equal(ask("b", 0, 54, 54), 54) // 8 are left, an eighth
	equal(ask("a", 2, 0, 5), 3)
	equal(ask("a", 3, 0, 5), 3)
}
