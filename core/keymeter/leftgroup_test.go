package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
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
