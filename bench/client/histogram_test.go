package main

import (
	"testing"
	"time"
)

// TestBuckets checks that every duration is in the bucket that ends at it or at most 1/128 above it, and that the next
// bucket begins right after it.
func TestBuckets(t *testing.T) {
	for us := uint64(0); us < 1<<20; us++ {
		b := bucket(us)
		if top := highest(b); top < us || top-us > us/128 || bucket(top) != b || bucket(top+1) != b+1 {
			t.Fatalf("%d µs is in bucket %d, which ends at %d", us, b, top)
		}
	}
}

func TestPercentiles(t *testing.T) {
	var h histogram
	if h.percentile(50) != 0 || len(h.buckets()) != 0 {
		t.Error("an empty histogram has percentiles")
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	h.add(time.Hour * 24 * 365) // above the last bucket
	for _, c := range []struct{ p, least, most float64 }{
		{0, 0.001, 0.001}, {10, 0.101, 0.102}, {50, 0.501, 0.505}, {99, 0.991, 1}, {100, 1e9, 4e10},
	} {
		if got := h.percentile(c.p); got < c.least || got > c.most {
			t.Errorf("%v %%: %v ms, expected %v to %v", c.p, got, c.least, c.most)
		}
	}
	count := 0.0
	for _, b := range h.buckets() {
		count += b[1]
	}
	if count != 1001 {
		t.Errorf("the buckets have %v durations", count)
	}
}
