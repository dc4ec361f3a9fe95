package main

import (
	"math/bits"
	"time"
)

// A histogram counts durations in buckets, like HdrHistogram. Below 256 µs, a bucket is a microsecond wide. Above, each
// power of two has 128 buckets, so a bucket is at most 1/128 of its values wide.
const (
	precisionBits = 7
	exactBuckets  = 1 << (precisionBits + 1)
	maxShift      = 40 - precisionBits // a fortnight is far below this
)

type histogram struct {
	counts [exactBuckets + maxShift<<precisionBits]int
	total  int
	most   time.Duration
}

// bucket returns the number of the bucket of a duration in microseconds.
func bucket(us uint64) int {
	shift := max(0, bits.Len64(us)-precisionBits-1)
	return shift<<precisionBits + int(us>>shift)
}

// highest returns the highest duration of a bucket in microseconds.
func highest(bucket int) uint64 {
	if bucket < exactBuckets {
		return uint64(bucket)
	}
	shift := bucket>>precisionBits - 1
	return uint64(bucket-shift<<precisionBits+1)<<shift - 1
}

func (h *histogram) add(d time.Duration) {
	h.counts[min(bucket(uint64(max(0, d.Microseconds()))), len(h.counts)-1)]++
	h.total++
	h.most = max(h.most, d)
}

// percentile returns a duration in milliseconds that p percent of the durations do not exceed. It is 0 without durations.
func (h *histogram) percentile(p float64) float64 {
	seen := 0
	for i, n := range h.counts {
		if seen += n; n > 0 && float64(seen) >= p/100*float64(h.total) {
			return min(ms(highest(i)), float64(h.most.Microseconds())/1000)
		}
	}
	return 0
}

// buckets returns the buckets that have durations: their highest duration in milliseconds, and their count.
func (h *histogram) buckets() [][2]float64 {
	list := [][2]float64{}
	for i, n := range h.counts {
		if n > 0 {
			list = append(list, [2]float64{ms(highest(i)), float64(n)})
		}
	}
	return list
}

func ms(us uint64) float64 { return float64(us) / 1000 }
