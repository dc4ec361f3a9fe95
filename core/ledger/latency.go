package ledger

import "github.com/postern-ai/postern/core/abi"

// Latency is a histogram of request durations, from the request's arrival to the end of its response.
type Latency struct {
	SumMs   uint64
	Buckets [len(LatencyBoundsMs) + 1]uint64 // number of requests per bucket; the last has no upper bound
}

// LatencyBoundsMs are the inclusive upper bounds of the buckets. Each bound is at most twice the previous one, so a
// percentile is too high by at most a factor of two.
var LatencyBoundsMs = [...]uint64{5, 10, 18, 32, 56, 100, 180, 320, 560, 1000, 1800, 3200, 5600, 10_000, 18_000, 32_000, 56_000, 100_000}

// Add counts one request.
func (l *Latency) Add(ms uint64) {
	l.SumMs += ms
	at := 0
	for at < len(LatencyBoundsMs) && ms > LatencyBoundsMs[at] {
		at++
	}
	l.Buckets[at]++
}

// Count returns the number of requests.
func (l *Latency) Count() (n uint64) {
	for _, b := range l.Buckets {
		n += b
	}
	return n
}

// Percentile returns the given percentile in milliseconds, as the upper bound of its bucket.
func (l *Latency) Percentile(percent uint64) uint64 {
	rank := (l.Count()*percent + 99) / 100
	for i, n := range l.Buckets {
		if rank <= n {
			return latencyBound(i)
		}
		rank -= n
	}
	return latencyBound(len(LatencyBoundsMs))
}

// latencyBound returns the upper bound of a bucket. That of the last bucket is twice the last bound.
func latencyBound(bucket int) uint64 {
	if bucket < len(LatencyBoundsMs) {
		return LatencyBoundsMs[bucket]
	}
	return 2 * LatencyBoundsMs[len(LatencyBoundsMs)-1]
}

func (l *Latency) plus(o *Latency) {
	l.SumMs += o.SumMs
	for i := range l.Buckets {
		l.Buckets[i] += o.Buckets[i]
	}
}

func (l *Latency) fields(f *abi.Fields) {
	f.Uint(&l.SumMs)
	sparseFields(f, l.Buckets[:])
}

// addTo adds the histogram's requests to an activity. Their durations are the upper bounds of their buckets.
func (l *Latency) addTo(a *Activity) {
	for i, n := range l.Buckets {
		a.Latency.Add(latencyBound(i), n)
	}
	a.Latency.SumMs = l.SumMs
}
