package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
)

// TestMovedKeyReturnsWhatIsReleased checks that a key which left a group returns what its failed request had reserved
// there, without a recall.
func TestMovedKeyReturnsWhatIsReleased(t *testing.T) {
	w, first, second := company(t)
	w.give("grp_2", calendar.Monthly, 30)
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.place("key_1", "wide", "root", "grp_2", "proj_1")
	w.pass(1000)
	first.settle("req_1", 1, 0)
	w.pass(60_000)
	delete(w.keys, "key_1") // a recall would fail
	w.expectAdmit(second, "req_2", 100, 100, "")
}

// TestRecallOfALevelInUse checks that a key which left a group reports once what its request in progress holds there. A
// request that got such a report for each recall would recall the key again and again.
func TestRecallOfALevelInUse(t *testing.T) {
	w, first, _ := company(t)
	w.give("grp_2", calendar.Monthly, 30)
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.place("key_1", "wide", "root", "grp_2", "proj_1")
	recall := func(held int64) bool {
		flush := keymeter.Flush{Recall: true, Ledger: "grp_1", HeldPico: held}
		reply, err := keymeter.DecodeFlushReply(first.call(flush.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return len(reply.Return) > 0
	}
	if !recall(40) || recall(40) || !recall(50) || recall(40) {
		t.Error("want reports at first, and if the Ledger knows another amount")
	}
	first.settle("req_1", 2, 10)
	if !recall(40) || recall(10) {
		t.Error("want a report of what the settlement has freed")
	}
}
