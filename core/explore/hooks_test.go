package explore_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
)

// machine is the exchange as the explorer sees it.
var machine = struct {
	step      func(cfg *config.Config, in *abi.StepInput) abi.StepOutput
	rows      func() []string                                          // of the table, "phase/event"
	rowOf     func(cfg *config.Config, state []byte, e *abi.Event) int // the row that takes the event; -1: none
	canonical func(cfg *config.Config, state []byte) []byte            // without clock readings, seed and latencies
}{
	step:      exchange.Step,
	rows:      func() []string { return nil },
	rowOf:     func(*config.Config, []byte, *abi.Event) int { return -1 },
	canonical: func(_ *config.Config, state []byte) []byte { return state },
}
