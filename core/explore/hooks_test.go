package explore_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
)

// machine is the exchange as the explorer sees it.
var machine = struct {
	step      func(*config.Config, *abi.StepInput) abi.StepOutput
	rows      func() []string                              // of the table, as phase/input
	rowOf     func(*config.Config, []byte, *abi.Event) int // the row that takes an event in a state; -1: none
	canonical func(*config.Config, []byte) []byte          // a state without clock readings, random numbers and latencies
}{exchange.Step, exchange.Rows, exchange.RowOf, exchange.Canonical}
