package exchange

// Some work runs alongside the request. Its inputs arrive in many phases, and their effect does not depend on the
// phase. Each kind of work is a small state machine with its own states and table. Its state is not stored, because
// it follows from the outstanding actions.

// sideState is a state of a side machine. Each machine defines its own states.
type sideState uint8

// sideSet is a set of states of one machine.
type sideSet uint8

// sideRow maps one input in one state to its handler, the states that may follow, and the phases that the handler may
// enter.
type sideRow struct {
	state sideState
	input
	handle func(*exchange)
	next   sideSet
	moves  phaseSet
}
