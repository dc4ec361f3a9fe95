package ledger_test

import (
	"testing"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// TestReturnsOfSeveralMeters checks that one command with the Returns of several meters frees what all of them return,
// and that a repeated or an older one changes nothing.
func TestReturnsOfSeveralMeters(t *testing.T) {
	b := newHarness(t)
	b.Name = "grp_1"
	b.put(3, month(), doc.Alerts{})
	ask := func(key string, epoch uint64, held, need int64) ledger.GrantReply {
		t.Helper()
		g := ledger.Grant{Key: key, Period: month(), Epoch: epoch, HeldPico: held, NeedPico: need, LeastPico: need}
		reply, err := ledger.DecodeGrantReply(b.call(g.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	for _, key := range []string{"a", "b", "c"} {
		if !ask(key, 1, 0, money.Dollar).Granted {
			t.Fatalf("no dollar for %s", key)
		}
	}
	if r := ask("d", 1, 0, 2*money.Dollar); r.Granted || len(r.Recall) != 3 {
		t.Fatalf("%+v", r)
	}
	returned := func(key string, seq uint64, spent int64) []byte {
		r := ledger.Return{Key: key, Seq: seq, Period: month(), Epoch: 2, HeldPico: spent, SpentPico: spent}
		return r.Encode()
	}
	reports := [][]byte{returned("a", 2, 0), returned("b", 2, money.Cent), returned("c", 2, 0), returned("c", 1, money.Dollar)}
	for range 2 {
		b.call(ledger.Returns(reports))
		if r := ask("d", 1, 0, 3*money.Dollar-money.Cent); !r.Granted {
			t.Errorf("%+v", r)
		}
	}
	if r := ask("e", 1, 0, 1); r.Granted {
		t.Errorf("more than the budget: %+v", r)
	}
	for _, bad := range [][][]byte{{{1}}, {ledger.Batch(nil)}, {append(returned("a", 3, 0), 0)}} {
		if _, err := b.Call(b.now, ledger.Returns(bad)); err == nil {
			t.Errorf("%x: no error", bad)
		}
	}
}
