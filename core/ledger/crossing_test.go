package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// cross reports that keys have reached 80 percent of their own budgets. The first key has the number from.
func (b *harness) cross(from, n int) {
	b.Helper()
	for i := range n {
		key := fmt.Sprint("key_", from+i)
		b.seqs[key]++
		command := ledger.Absorb{
			Key: key, KeyID: key, Seq: b.seqs[key],
			Crossings: []ledger.Crossing{{Name: key, Percent: 80, Period: month(), LimitPico: 10 * money.Dollar, SpentPico: 8 * money.Dollar}},
		}
		b.call(command.Encode())
	}
}

// TestManyKeyAlerts checks that the pending alerts of keys are limited, that those of the project are kept, and that one
// command posts only some of them.
func TestManyKeyAlerts(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(800)
	b.cross(0, 70)
	if posts := b.takePosts(); len(posts) != 71 {
		t.Errorf("%d posts", len(posts))
	}
	ids := map[string]bool{}
	b.now += 3600_000
	for rang := true; rang; b.now++ {
		var err error
		if rang, err = b.Ring(b.now); err != nil {
			t.Fatal(err)
		}
		posts := b.takePosts()
		if len(posts) > 16 {
			t.Fatalf("%d posts of one command", len(posts))
		}
		for _, p := range posts {
			ids[p.ID] = true
		}
	}
	keys := 0
	for id := range ids {
		if strings.HasPrefix(id, "evt_key_") {
			keys++
		}
	}
	if keys != 64 || len(ids) != 65 {
		t.Errorf("alerts of %d keys among %d", keys, len(ids))
	}
}

// TestKeyAlertsNeedAWebhook checks that crossings in a project without a webhook leave nothing behind.
func TestKeyAlertsNeedAWebhook(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), doc.Alerts{})
	b.cross(0, 1)
	b.put(10, month(), hook)
	b.expectAlerts("crossings before there was a webhook")
	b.cross(0, 1)
	b.expectAlerts("a crossing", 80)
}

// TestMalformedCrossings checks that the layout with crossings has some.
func TestMalformedCrossings(t *testing.T) {
	with := ledger.Absorb{Key: "k", Seq: 1, Crossings: []ledger.Crossing{{}}}
	data := with.Encode()
	for n := range len(data) {
		if _, err := ledger.DecodeAbsorb(data[:n]); err == nil {
			t.Errorf("the first %d bytes were decoded", n)
		}
	}
	without := ledger.Absorb{Key: "k", Seq: 1}
	none := append([]byte{data[0], 0}, without.Encode()[1:]...)
	if _, err := ledger.DecodeAbsorb(none); err == nil {
		t.Error("a batch without crossings was decoded")
	}
}
