package ledger_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// puts returns the keys of the rows that a command writes.
func (b *harness) puts(command []byte) (keys []string) {
	b.Helper()
	apply := b.Apply
	b.Apply = func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		out, err := apply(in)
		for _, row := range out.Puts {
			keys = append(keys, row.Key)
		}
		return out, err
	}
	b.call(command)
	b.Apply = apply
	return keys
}

// rest waits until nothing that can be sent is pending.
func (f *family) rest() {
	f.Helper()
	for range 3 {
		f.pass(60_000)
	}
}

// busy sends usage, which is sent at once, so that the next usage waits for its minute.
func (f *family) busy() ledger.Usage {
	f.Helper()
	first := use(1, today, "first", 1)
	f.absorb(first)
	f.deliver()
	f.has("root", first)
	return first
}

// TestKnownPathsCostNoRow checks that a Put writes the paths only if one of them is new.
func TestKnownPathsCostNoRow(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	for _, row := range []struct {
		number  uint64
		written bool
	}{{1, false}, {2, true}, {2, false}} {
		f.version++
		p := ledger.Put{Version: f.version, BudgetPico: money.Dollar, Period: month()}
		for n := uint64(1); n <= row.number; n++ {
			p.Paths = append(p.Paths, path(n, "root"))
		}
		written := false
		for _, key := range f.puts(p.Encode()) {
			written = written || key == "up"
		}
		if written != row.written {
			t.Errorf("%d paths: written %t", row.number, written)
		}
	}
}

// TestOneModelIsOneSum checks that any number of batches with the same model and day wait for their minute, and that 256
// different models do not.
func TestOneModelIsOneSum(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	first := f.busy()
	for range 300 {
		f.absorb(use(1, today, "a", 1))
	}
	f.deliver()
	f.has("root", first)
	for i := range 254 {
		f.absorb(use(1, today, fmt.Sprint("m", i), 1))
	}
	f.deliver()
	f.has("root", first)
	f.absorb(use(1, today, "last", 1))
	f.deliver()
	if f.sent != 3 {
		t.Errorf("%d Contributions after the first, want 2 with 128 sums each", f.sent-1)
	}
}

// TestAlarmAtTheSameTime checks that an alarm for something else does not send the usage of the same millisecond.
func TestAlarmAtTheSameTime(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	first := f.busy()
	f.absorb(use(1, today, "a", 5))
	f.call(nil)
	f.deliver()
	f.has("root", first)
	f.now -= 1000 // the clock went back
	f.call(nil)
	f.deliver()
	f.has("root", use(1, today, "a", 5), first)
}

// TestUsageOfAPathToCome checks that usage waits for its path without another batch, and that usage of a path that is
// forgotten does not wait.
func TestUsageOfAPathToCome(t *testing.T) {
	f := newFamily(t, path(5, "grp_1"))
	f.absorb(use(4, today, "a", 1), use(6, today, "a", 2))
	f.pass(60_000)
	f.putPaths(path(5, "grp_1"), path(6, "root"))
	f.pass(60_000)
	f.has("root", use(6, today, "a", 2))
	f.has("grp_1", use(4, today, "a", 1))
	if f.sent != 2 || f.AlarmMs != 0 {
		t.Errorf("%d Contributions; an alarm is due at %d", f.sent, f.AlarmMs)
	}
}

// TestOldPathDoesNotWait checks that usage of a forgotten path sets no alarm, because no Put brings the path back.
func TestOldPathDoesNotWait(t *testing.T) {
	f := newFamily(t, path(5, "grp_1"))
	f.absorb(use(4, today, "a", 1))
	f.rest()
	if f.AlarmMs != 0 {
		t.Errorf("an alarm is due at %d", f.AlarmMs)
	}
}

// TestWaitingUsageIsBounded checks that at most 256 sums wait for a path.
func TestWaitingUsageIsBounded(t *testing.T) {
	f := newFamily(t)
	var list []ledger.Usage
	for i := range 300 {
		list = append(list, use(1, today, fmt.Sprintf("m%03d", i), 1))
	}
	f.absorb(list...)
	f.putPaths(path(1, "root"))
	f.pass(60_000)
	f.has("root", list[:256]...)
}

// TestForwardWithoutUsage checks that a Forward of a Ledger without pending usage writes nothing and sets no alarm.
func TestForwardWithoutUsage(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	f.rest()
	if puts := f.puts(ledger.Forward()); len(puts) > 0 || f.AlarmMs != 0 {
		t.Errorf("rows %q; an alarm is due at %d", puts, f.AlarmMs)
	}
}
