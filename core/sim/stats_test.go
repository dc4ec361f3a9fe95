package sim_test

import (
	"fmt"
	"slices"
	"strings"
)

// stats counts what worlds did.
type stats struct {
	Worlds, Calm, Exchanges, Steps, Commands, Fetches, Faults, Operations, Left, Expired int
	statuses                                                                             map[uint64]int
}

func (s *stats) answered(status uint64) {
	if s.statuses == nil {
		s.statuses = map[uint64]int{}
	}
	s.statuses[status]++
}

func (s *stats) plus(o *stats) {
	s.Worlds += o.Worlds
	s.Calm += o.Calm
	s.Exchanges += o.Exchanges
	s.Steps += o.Steps
	s.Commands += o.Commands
	s.Fetches += o.Fetches
	s.Faults += o.Faults
	s.Operations += o.Operations
	s.Left += o.Left
	s.Expired += o.Expired
	for status, n := range o.statuses {
		s.answered(status)
		s.statuses[status] += n - 1
	}
}

func (s *stats) String() string {
	var statuses []uint64
	for status := range s.statuses {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds (%d without fault classes), %d exchanges, %d steps, %d commands of objects, %d fetches, %d faults, %d operators' changes, %d reservations expired\nanswers:",
		s.Worlds, s.Calm, s.Exchanges, s.Steps, s.Commands, s.Fetches, s.Faults, s.Operations, s.Expired)
	for _, status := range statuses {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "none (the caller or its isolate was gone)"
		}
		fmt.Fprintf(&b, " %s: %d,", name, s.statuses[status])
	}
	return strings.TrimSuffix(b.String(), ",")
}
