package main

import (
	"context"
	"runtime/debug"
	"testing"
)

func collector() (percent int, limit int64) {
	percent = debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

func TestCollectRarely(t *testing.T) {
	percent, limit := collector()
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, variable := range []string{"GOGC=50", "GOMEMLIMIT=1GiB"} {
		p := program{environ: []string{"HOME=/", variable}}
		p.collectRarely(ctx)
		if gotPercent, gotLimit := collector(); gotPercent != percent || gotLimit != limit {
			t.Errorf("%s: percent %d, limit %d; want what the operator has set", variable, gotPercent, gotLimit)
		}
	}
	p := program{environ: []string{"GOGC="}}
	p.collectRarely(ctx)
	if gotPercent, gotLimit := collector(); gotPercent != heapGrowthPercent || gotLimit != usualMemory {
		t.Errorf("percent %d, limit %d", gotPercent, gotLimit)
	}
}

// With a large live heap, the limit allows as much as Go's default: the heap may double its size.
func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct{ live, other, want uint64 }{
		{0, 0, usualMemory},
		{20 << 20, 30 << 20, usualMemory},
		{100 << 20, 30 << 20, 230 << 20},
		{8 << 30, 1 << 30, 17 << 30},
	} {
		if got := memoryLimit(c.live, c.other); got != int64(c.want) {
			t.Errorf("live %d, other %d: %d, want %d", c.live, c.other, got, c.want)
		}
	}
	live, other := newMemoryUse().read()
	if debug.FreeOSMemory(); other == 0 || live > 1<<40 || other > 1<<40 {
		t.Errorf("live %d, other %d", live, other)
	}
}

// TestIdleness checks that memory is returned once after a busy period. It must not be returned during a busy period.
// An idle server, which allocates little, must not return memory often.
func TestIdleness(t *testing.T) {
	var idle idleness
	total := uint64(0)
	run := func(periods int, bytes uint64) (released int) {
		for range periods {
			if total += bytes; idle.ends(total) {
				released++
			}
		}
		return released
	}
	for _, c := range []struct {
		about   string
		periods int
		bytes   uint64
		want    int
	}{
		{"idle since the start", 30, idleBytes / 10, 0},
		{"busy", 100, 10 << 20, 0},
		{"not idle for long enough", idlePeriods - 1, 0, 0},
		{"busy again", 1, 10 << 20, 0},
		{"idle", idlePeriods, 0, 1},
		{"idle on", 300, idleBytes / 10, 0},
		{"little by little", 25, idleBytes / 10, 1},
		{"little again", 10, idleBytes / 10, 0},
		{"busy for a moment", 1, 10 << 20, 0},
		{"idle and not worthwhile", idlePeriods + 1, 0, 0},
	} {
		if got := run(c.periods, c.bytes); got != c.want {
			t.Errorf("%s: returned memory %d times, want %d", c.about, got, c.want)
		}
	}
}
