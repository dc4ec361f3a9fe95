package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Rows returns the names of all rows. A row of the table is named phase/input, a row of a side machine
// machine:state/input, and a disconnect phase/disconnect.
func Rows() (names []string) {
	for i := range table {
		names = append(names, phaseTable[table[i].phase].name+"/"+inputNames[table[i].input])
	}
	for i := range sideMachines {
		m := &sideMachines[i]
		for _, r := range m.rows {
			names = append(names, m.name+":"+m.states[r.state]+"/"+inputNames[r.input])
		}
	}
	for p := range phaseTable {
		if phaseTable[p].onDisconnect != impossible {
			names = append(names, phaseTable[p].name+"/"+inputNames[inDisconnect])
		}
	}
	return names
}

// Next returns the names of the phases that each row may enter, in the order of Rows.
func Next() (sets [][]string) {
	for i := range table {
		sets = append(sets, table[i].next.names())
	}
	for i := range sideMachines {
		for _, r := range sideMachines[i].rows {
			sets = append(sets, r.moves.names())
		}
	}
	for p := range phaseTable {
		if phaseTable[p].onDisconnect != impossible {
			sets = append(sets, phaseTable[p].onDisconnect.next().names())
		}
	}
	return sets
}

// Set is a set of phases. Several rows may enter them through one function.
type Set struct {
	Name   string
	Phases []string
}

// SharedNext returns the sets that rows share. Each set comes after the sets that it contains.
func SharedNext() (sets []Set) {
	for _, s := range []struct {
		name string
		set  phaseSet
	}{
		{"attempt whole", toWholeAttempt}, {"attempt stream", toStreamAttempt}, {"attempt", toAttempt}, {"dispatch", toDispatch}, {"chosen", toChosen}, {"serve", toServe},
	} {
		sets = append(sets, Set{s.name, s.set.names()})
	}
	return sets
}

func (set phaseSet) names() (names []string) {
	for p := range phaseTable {
		if set.has(phase(p)) {
			names = append(names, phaseTable[p].name)
		}
	}
	return names
}

// PhaseOf returns the name of the phase in an encoded state.
func PhaseOf(cfg *config.Config, stateBytes []byte) string {
	return phaseTable[decodeState(stateBytes, cfg.Models).phase].name
}

// RowOf returns the index in Rows of the row that handles the event in the given state. If no row does, or if the
// event is a late reply to a canceled action, it returns -1.
func RowOf(cfg *config.Config, stateBytes []byte, event *abi.Event) int {
	x := exchange{step: step{config: cfg, event: event}}
	if event.Kind != abi.EventRequest {
		x.s = decodeState(stateBytes, cfg.Models)
	}
	in, expected := x.input()
	switch m := x.beside(in); {
	case !expected:
		return -1
	case in == inDisconnect:
		return x.disconnectRow()
	case m != nil:
		return x.sideRow(m, in)
	}
	return find(x.s.phase, in)
}

func (x *exchange) disconnectRow() int {
	at := len(Rows()) - 1
	for p := len(phaseTable) - 1; p > int(x.s.phase); p-- {
		if phaseTable[p].onDisconnect != impossible {
			at--
		}
	}
	return at
}

// Canonical returns the state without clock readings, latencies and the random sequence. If two states have the same
// canonical form, the same events lead them through the same phases.
func Canonical(cfg *config.Config, stateBytes []byte) []byte {
	s := decodeState(stateBytes, cfg.Models)
	s.seed, s.startMs, s.dispatchMs, s.times, s.stream.firstContentMs, s.flight.lastMs = 0, 0, 0, times{}, 0, 0
	return s.encode(cfg.Models)
}

// Endpoint is an endpoint as observers see it.
type Endpoint struct {
	Method, Path string
	Name         string  // in logs
	Calls        bool    // the endpoint sends requests to providers
	Purpose      Purpose // purpose of these requests
}

// Endpoints lists the endpoints of the core.
func Endpoints() (all []Endpoint) {
	for i := range endpoints[1:] {
		e := &endpoints[i+1]
		all = append(all, Endpoint{e.method, e.path, e.label(), e.calls.family != nil, e.calls.purpose})
	}
	return all
}

func (x *exchange) sideRow(machine *sideMachine, in input) int {
	at := len(table)
	for i := range sideMachines {
		m := &sideMachines[i]
		for _, r := range m.rows {
			if m == machine && r.state == m.state(x) && r.input == in {
				return at
			}
			at++
		}
	}
	return -1
}
