package sim_test

import (
	"fmt"
	"slices"
	"strings"
)

type stats struct {
	Worlds, Calm, Exchanges, Steps, Commands, Fetches, Faults, Operations, Left, Expired, Followed, Withheld int
	Leases, Leased, Booked, ReportedLate                                                                     int
	Queued, Woken                                                                                            int // waits for a lease, and waits that a step has ended
	Unknown, Reruns                                                                                          int
	Guarded                                                                                                  int // requests refused because they made too many calls for their budgets
	statuses                                                                                                 map[uint64]int
}

func (s *stats) countStatus(status uint64) {
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
	s.Leases += o.Leases
	s.Leased += o.Leased
	s.Booked += o.Booked
	s.Queued += o.Queued
	s.Woken += o.Woken
	s.ReportedLate += o.ReportedLate
	s.Followed += o.Followed
	s.Withheld += o.Withheld
	s.Unknown += o.Unknown
	s.Reruns += o.Reruns
	s.Guarded += o.Guarded
	for status, n := range o.statuses {
		s.countStatus(status)
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
	fmt.Fprintf(&b, "%d worlds (%d without fault classes), %d exchanges, %d steps, %d object commands, %d fetches, %d exchanges in another's flight, %d chunks withheld, %d faults, %d operator changes, %d expired reservations\n%d leases admitted %d requests; %d were booked as unreported, %d of them reported late\n%d waits for a lease, %d ended by a step\n%d requests got an unknown outcome, %d ran again\n%d requests made too many calls for their budgets\nresponses:",
		s.Worlds, s.Calm, s.Exchanges, s.Steps, s.Commands, s.Fetches, s.Followed, s.Withheld, s.Faults, s.Operations, s.Expired, s.Leases, s.Leased, s.Booked, s.ReportedLate, s.Queued, s.Woken, s.Unknown, s.Reruns, s.Guarded)
	for _, status := range statuses {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "none (client disconnected or isolate killed)"
		}
		fmt.Fprintf(&b, " %s: %d,", name, s.statuses[status])
	}
	return strings.TrimSuffix(b.String(), ",")
}
