package budget_test

import (
	"testing"

	"github.com/postern-ai/postern/core/budget"
)

// TestSoftLevels checks that a soft level counts and stops nothing: neither another unit, nor a key's own budget, nor a
// project's once its Ledger knows the key.
func TestSoftLevels(t *testing.T) {
	c := newChain([]string{"root", "proj_1#requests"}, budget.Own{Name: "key", Limit: 5})
	for i := 1; i < 4; i++ {
		c.Levels[i].Soft = true
	}
	grant(c, 0, 100)
	short := reserve(t, c, now, dollars("req_1", 20))
	if short.Level != 2 || short.NeedPico != 0 || short.LeastPico != 0 {
		t.Errorf("%+v", short)
	}
	counted := budget.Request{ID: "req_2", Want: budget.Amounts{Requests: 1}, Counted: true}
	if _, short := c.Reserve(now, &counted); len(short) > 0 {
		t.Errorf("a counted request asks for the project's grant: %+v", short)
	}
	grant(c, 2, 0)
	if pico, short := c.Reserve(now, dollars("req_1", 20)); pico != 20 || len(short) > 0 {
		t.Errorf("%d, %+v", pico, short)
	}
	expect(t, c, "0+20/100", "2+0/0", "0+20/0", "0+20/5")
	if free := c.Free(); free != 80 {
		t.Errorf("%d are free, want 80", free)
	}
	if free := c.FreeAt(month, c.Places()); free != 80 {
		t.Errorf("%d are free, want 80", free)
	}
}

// TestSoften checks that a level that begins to stop requests keeps its spent and its reserved amounts.
func TestSoften(t *testing.T) {
	c := granted([]string{"grp_1"}, 0, 100)
	l := &c.Levels[0]
	if l.Soften(true) {
		t.Error("a level that no longer stops requests is reported")
	}
	c.Reserve(now, dollars("req_1", 20))
	l.Unsent = false
	if !l.Soften(false) || l.Slice.Granted != 20 || l.Epoch != 2 || !l.Unsent {
		t.Errorf("%+v", l)
	}
	if l.Soften(false) {
		t.Error("the same enforcement is reported as a change")
	}
}
