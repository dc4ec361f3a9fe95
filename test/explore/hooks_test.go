package explore_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
)

// machine is the part of package exchange that the explorer uses.
var machine = struct {
	rows      func() []string                              // rows of the transition table, each as phase/input
	rowOf     func(*config.Config, []byte, *abi.Event) int // number of the row that handles an event in a given state; -1: none
	next      func() [][]string                            // phases that each row may enter
	shared    func() []exchange.Set                        // sets of phases to which more than one row leads
	phase     func(*config.Config, []byte) string          // of a state
	canonical func(*config.Config, []byte) []byte          // a state without clock readings, random numbers and latencies
}{exchange.Rows, exchange.RowOf, exchange.Next, exchange.SharedNext, exchange.PhaseOf, exchange.Canonical}
