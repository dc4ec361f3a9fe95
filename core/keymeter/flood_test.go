package keymeter_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// countWrites makes an object count the rows that its commands put and delete.
func countWrites(apply func(*abi.ObjectInput) (abi.ObjectOutput, error), n *int) func(*abi.ObjectInput) (abi.ObjectOutput, error) {
	return func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		out, err := apply(in)
		*n += len(out.Puts) + len(out.Deletes)
		return out, err
	}
}

// flood sends 600 blocked requests of one key within a minute. Each request violates up to 12 of the given number of
// rules. flood returns the number of rows that are kept about violations, and the number of rows that the meter and
// the Ledger write.
func flood(t *testing.T, rules int) (kept, byMeter, byLedger int) {
	r := newReporter(t, "wide")
	r.Object.Apply = countWrites(r.Object.Apply, &byMeter)
	r.project.Apply = countWrites(r.project.Apply, &byLedger)
	for i := range 600 {
		var list []ledger.Violation
		for j := range min(rules, 12) {
			list = append(list, found(fmt.Sprint("rule.", (i*12+j)%rules))...)
		}
		r.now = start + uint64(i)*100
		r.ringUntil(r.now)
		r.deliverOnce()
		r.admit(keymeter.Admit{Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 422}, Violations: list})
	}
	r.ringUntil(start + 2*minuteMs)
	r.deliverOnce()
	return len(r.project.Keys("v/", "v0")), byMeter, byLedger
}

// deliverOnce delivers the outbox to the Ledger.
func (r *reporter) deliverOnce() {
	r.Helper()
	rows, deliveries, err := r.Outbox()
	if err != nil {
		r.Fatal(err)
	}
	for i, d := range deliveries {
		r.toLedger(d.Data)
		r.Delete(rows[i])
	}
}

// TestFloodFigures measures the figures in docs/guides/violations.md: how many violations a flood leaves, and how
// many more rows it writes than the same flood without violations.
func TestFloodFigures(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/violations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, meterAlone, ledgerAlone := flood(t, 0)
	for _, rules := range []int{1, 5, 64, 200} {
		kept, byMeter, byLedger := flood(t, rules)
		line := fmt.Sprintf("| %d | %d | %d | %d |", rules, kept, byMeter-meterAlone, byLedger-ledgerAlone)
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/guides/violations.md does not have %s", line)
		}
		if limit := 65; kept > limit {
			t.Errorf("%d rules leave %d violations, want at most %d", rules, kept, limit)
		}
	}
}
