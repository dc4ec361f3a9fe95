package ledger_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// TestOldReturns checks that a Return counts only if it is newer than the last one.
func TestOldReturns(t *testing.T) {
	node := newHarness(t)
	node.put(1, month(), hook)
	returned := func(seq uint64, cents int64) {
		t.Helper()
		r := ledger.Return{Key: "meter", Seq: seq, Period: month(), Epoch: 1, SpentPico: cents * money.Cent}
		node.call(r.Encode())
	}
	returned(4, 10)
	returned(4, 20)
	returned(3, 30)
	if r := node.report(); r.UsedPico != 10*money.Cent {
		t.Errorf("%d picodollars are spent, want 10 cents", r.UsedPico)
	}
	returned(5, 40)
	if r := node.report(); r.UsedPico != 40*money.Cent {
		t.Errorf("%d picodollars are spent, want 40 cents", r.UsedPico)
	}
}

// TestReturnOfTheSameEpoch checks that a Return does not void a grant that was made after its meter sent it. In a new
// epoch, it does.
func TestReturnOfTheSameEpoch(t *testing.T) {
	node := newHarness(t)
	node.put(1, month(), hook)
	ask := ledger.Grant{Key: "meter", Period: month(), Epoch: 1, NeedPico: money.Dollar, LeastPico: money.Dollar}
	node.call(ask.Encode())
	other := ledger.Grant{Key: "other", Period: month(), Epoch: 1, NeedPico: money.Dollar, LeastPico: money.Dollar}
	for _, epoch := range []uint64{1, 2} {
		r := ledger.Return{Key: "meter", Seq: epoch, Period: month(), Epoch: epoch}
		node.call(r.Encode())
		if g, err := ledger.DecodeGrantReply(node.call(other.Encode())); err != nil || g.Granted != (epoch == 2) {
			t.Errorf("epoch %d: %v %+v", epoch, err, g)
		}
	}
}

// TestReturnSendsAlerts checks that spending that a single Return reports sends the alerts of its thresholds.
func TestReturnSendsAlerts(t *testing.T) {
	node := newHarness(t)
	node.put(1, month(), hook)
	r := ledger.Return{Key: "meter", Seq: 1, Period: month(), Epoch: 1, SpentPico: 85 * money.Cent}
	node.call(r.Encode())
	if posts := node.takePosts(); len(posts) != 1 {
		t.Errorf("%d alerts, want the one at 80%%", len(posts))
	}
}

// TestReturnOfAnUnknownCycle checks that a Return fails if the Ledger has yet to learn of the cycle. The meter repeats it.
func TestReturnOfAnUnknownCycle(t *testing.T) {
	node := newHarness(t)
	node.put(1, month(), hook)
	r := ledger.Return{Key: "meter", Seq: 1, Period: calendar.NewPeriod(calendar.Weekly, 1, today), Epoch: 1, SpentPico: 5}
	for _, command := range [][]byte{r.Encode(), ledger.Returns([][]byte{r.Encode()})} {
		if _, err := node.Call(node.now, command); err == nil {
			t.Error("accepted")
		}
	}
}
