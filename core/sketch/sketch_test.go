package sketch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

func percentile(sorted []uint64, percent int) uint64 {
	return sorted[max(1, (len(sorted)*percent+99)/100)-1]
}

// TestPercentiles compares a merged sketch's percentiles with the exact ones, for distributions with short, long and
// few different durations.
func TestPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() uint64{
		"even":        func() uint64 { return random.Uint64N(1000) },
		"exponential": func() uint64 { return uint64(random.ExpFloat64() * 800) },
		"two":         func() uint64 { return []uint64{3, 48_000}[random.IntN(2)] },
		"long":        func() uint64 { return 60_000 + random.Uint64N(10_000_000) },
		"one":         func() uint64 { return 731 },
	} {
		parts := make([]Sketch, 7)
		var all []uint64
		sum := uint64(0)
		for range 20_000 {
			ms := draw()
			all = append(all, ms)
			sum += ms
			parts[random.IntN(len(parts))].Add(ms, 1)
		}
		slices.Sort(all)
		var merged Sketch
		for i := range parts {
			var read Sketch
			if err := abi.DecodeFields(abi.EncodeFields(0, 64, parts[i].Fields), read.Fields); err != nil {
				t.Fatal(err)
			}
			merged.Plus(&read)
		}
		if merged.Count() != 20_000 || merged.SumMs != sum {
			t.Errorf("%s: %d durations, sum %d; want 20000, %d", name, merged.Count(), merged.SumMs, sum)
		}
		for _, p := range []int{1, 50, 90, 95, 99, 100} {
			got, want := merged.Percentile(uint64(p)), percentile(all, p)
			if diff := max(got, want) - min(got, want); float64(diff) > 0.032*float64(want) {
				t.Errorf("%s: p%d is %d, want %d to 3.2 %%", name, p, got, want)
			}
		}
	}
}

func TestBinsAreContiguous(t *testing.T) {
	last := uint64(0)
	for ms := uint64(0); ms < maxMs; ms += 1 + ms/5000 {
		index := indexOf(ms)
		if index != last && index != last+1 || index >= maxBins {
			t.Fatalf("%d ms: bin %d follows %d", ms, index, last)
		}
		if m := middle(index); indexOf(m) != index {
			t.Fatalf("the middle of bin %d, %d ms, is in bin %d", index, m, indexOf(m))
		}
		last = index
	}
}

func TestLimits(t *testing.T) {
	var s Sketch
	if s.Percentile(99) != 0 || s.Count() != 0 {
		t.Error("an empty sketch has durations")
	}
	s.Add(1<<63, 0)
	s.Add(1<<40, 2)
	if got := s.Percentile(50); got < maxMs*97/100 || s.Count() != 2 {
		t.Errorf("a duration beyond the last bin is %d", got)
	}
	var bad Sketch
	w := abi.Writer{}
	for _, n := range []uint64{0, 1, maxBins, 1} { // sum, bins, index, count
		w.Uint(n)
	}
	if abi.DecodeFields(w.Buf, bad.Fields) == nil {
		t.Error("a bin beyond the last one was decoded")
	}
}
