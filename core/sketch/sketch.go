// Package sketch counts durations in fine bins. Percentiles are accurate to within 3.2 %. Sketches of any hours, keys
// and models can be merged without loss.
package sketch

import (
	"math/bits"

	"github.com/postern-ai/postern/core/abi"
)

// Sketch is a histogram of durations in milliseconds. It has the bins of an HDR histogram. Durations below exact have
// one bin for each millisecond, and every further power of two has halfExact bins of equal width. It stores only bins
// that are not empty.
type Sketch struct {
	SumMs uint64
	bins  []bin // by index
}

type bin struct{ index, count uint64 }

// With halfExact bins for each power of two, the width of a bin is at most 1/16 of its durations. A percentile is the
// middle of its bin.
const (
	exactBits = 5
	exact     = 1 << exactBits
	halfExact = exact / 2
	// maxMs is the longest duration that has a bin of its own: 18 hours.
	maxMs   = 1<<26 - 1
	maxBins = exact + (26-exactBits)*halfExact
)

// indexOf returns the bin of a duration.
func indexOf(ms uint64) uint64 {
	if ms = min(ms, maxMs); ms < exact {
		return ms
	}
	shift := uint64(bits.Len64(ms)) - exactBits
	return shift*halfExact + ms>>shift
}

// middle returns the duration that represents a bin's durations.
func middle(index uint64) uint64 {
	if index < exact {
		return index
	}
	shift := index/halfExact - 1
	return (index-shift*halfExact)<<shift + (1<<shift-1)/2
}

// Add counts a duration n times.
func (s *Sketch) Add(ms, n uint64) {
	if n == 0 {
		return
	}
	s.SumMs += ms * n
	s.add(bin{indexOf(ms), n})
}

// add searches from the end, because merges add bins in order.
func (s *Sketch) add(b bin) {
	at := len(s.bins)
	for at > 0 && s.bins[at-1].index >= b.index {
		at--
	}
	if at < len(s.bins) && s.bins[at].index == b.index {
		s.bins[at].count += b.count
		return
	}
	s.bins = append(s.bins, bin{})
	copy(s.bins[at+1:], s.bins[at:])
	s.bins[at] = b
}

// Plus adds the durations of o.
func (s *Sketch) Plus(o *Sketch) {
	s.SumMs += o.SumMs
	for _, b := range o.bins {
		s.add(b)
	}
}

// Minus takes back durations that Plus has added.
func (s *Sketch) Minus(o *Sketch) {
	s.SumMs -= o.SumMs
	for _, b := range o.bins {
		s.add(bin{b.index, -b.count})
	}
	kept := s.bins[:0]
	for _, b := range s.bins {
		if b.count != 0 {
			kept = append(kept, b)
		}
	}
	s.bins = kept
}

// Count returns the number of durations.
func (s *Sketch) Count() (n uint64) {
	for _, b := range s.bins {
		n += b.count
	}
	return n
}

// Percentile returns a percentile in milliseconds, or 0 if there are no durations.
func (s *Sketch) Percentile(percent uint64) uint64 {
	rank := (s.Count()*percent + 99) / 100
	for _, b := range s.bins {
		if rank <= b.count {
			return middle(b.index)
		}
		rank -= b.count
	}
	return 0
}

// Fields lists the fields of a sketch. Each bin has its distance from the previous bin, and its count.
func (s *Sketch) Fields(f *abi.Fields) {
	f.Uint(&s.SumMs)
	last := uint64(0)
	abi.List(f, &s.bins, func(f *abi.Fields, b *bin) {
		step := b.index - last
		if f.Uint(&step); step >= maxBins || last+step >= maxBins {
			f.Fail()
			step = 0
		}
		last += step
		b.index = last
		f.Uint(&b.count)
	})
}
