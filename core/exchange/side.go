package exchange

// Some work runs alongside the request. Its inputs arrive in many phases and have the same effect in all of them.
// Each kind of work is a small state machine with its own states and table. Its state follows from the outstanding
// actions, so it is not stored.

// sideState is a state of a side machine. Each machine defines its own states.
type sideState uint8

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
