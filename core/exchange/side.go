package exchange

// Some work runs beside the request. Its inputs arrive in many phases, and their effect does not depend on the phase.
// Each such work is a small machine with its own states and table. Its state is not stored, because it follows from
// the actions whose replies are outstanding.

// sideState is a state of a machine beside the request. Each machine defines its own.
type sideState uint8

// sideSet is a set of states of one machine.
type sideSet uint8

// sideRow maps one input in one state to its handler, to the states that may follow, and to the phases that the handler may enter.
type sideRow struct {
	state sideState
	input
	handle func(*exchange)
	next   sideSet
	moves  phaseSet
}
