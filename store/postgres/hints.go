package postgres

import (
	"slices"
	"sync"

	"github.com/postern-ai/postern/core/abi"
)

// hints lists the individual rows that commands of a class usually read, such as an object's main row. If an object's
// rows are not in memory, or are probably out of date, the statement that takes the lock also reads these rows. This
// saves a round trip. Hints never affect a result.
type hints struct {
	mu      sync.Mutex
	classes map[abi.Class]*habit
}

type habit struct {
	counts map[string]int // by key
	noted  int            // reads since the usual keys were last chosen
	usual  []string       // the keys that are read most often
}

const (
	maxHints   = 4
	habitReads = 64 // number of reads after which the usual keys are chosen again
	hintShare  = 8  // a usual key has at least 1/hintShare of a class's reads
)

func (h *hints) note(class abi.Class, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.classes == nil {
		h.classes = map[abi.Class]*habit{}
	}
	c := h.classes[class]
	if c == nil {
		c = &habit{counts: map[string]int{}}
		h.classes[class] = c
	}
	c.counts[key]++
	if c.noted++; c.noted >= habitReads || len(c.usual) == 0 && c.counts[key] > 1 {
		c.choose()
	}
}

// choose sets the usual keys and halves the counts, so that the other keys are forgotten.
func (c *habit) choose() {
	total := 0
	for _, n := range c.counts {
		total += n
	}
	c.usual, c.noted = nil, 0
	for key, n := range c.counts {
		if n > 1 && n*hintShare >= total {
			c.usual = append(c.usual, key)
		}
		if c.counts[key] = n / 2; n < 2 {
			delete(c.counts, key)
		}
	}
	slices.SortFunc(c.usual, func(a, b string) int { return c.counts[b] - c.counts[a] })
	c.usual = c.usual[:min(len(c.usual), maxHints)]
}

func (h *hints) keys(class abi.Class) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.classes[class]; c != nil {
		return c.usual
	}
	return nil
}
