package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Rows returns the names of the table's rows as phase/input, in table order.
func Rows() []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = phaseNames[table[i].phase] + "/" + inputNames[table[i].input]
	}
	return names
}

// RowOf returns the index of the table row that handles the event in the given state, or -1 if no row does or it is a late
// reply to a canceled action.
func RowOf(cfg *config.Config, stateBytes []byte, event *abi.Event) int {
	x := exchange{config: cfg, event: event}
	if event.Kind != abi.EventRequest {
		x.s = decodeState(stateBytes, cfg.Models)
	}
	in, expected := x.input()
	if !expected {
		return -1
	}
	return find(x.s.phase, in)
}

// Canonical returns the state without clock readings, latencies and the random sequence. Two states with equal
// canonical forms go through the same phases for the same events.
func Canonical(cfg *config.Config, stateBytes []byte) []byte {
	s := decodeState(stateBytes, cfg.Models)
	s.seed, s.startMs, s.dispatchMs, s.times, s.stream.firstContentMs, s.flight.lastMs = 0, 0, 0, times{}, 0, 0
	return s.encode(cfg.Models)
}
