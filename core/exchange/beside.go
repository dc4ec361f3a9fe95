package exchange

// sideMachine is a small state machine that runs alongside the request.
type sideMachine struct {
	name   string
	states []string
	rows   []sideRow
	state  func(*exchange) sideState
}

var sideMachines = [...]sideMachine{
	{"classifier", []string{"off", "planned", "reading", "judging", "judged", "releasing"}, classifierRows[:], (*exchange).classifierState},
	{"extension", []string{"idle", "meter", "ledger", "recall"}, extensionRows[:], (*exchange).extensionState},
	{"lease", []string{"idle", "asleep", "reporting", "both"}, leaseRows[:], (*exchange).leaseState},
	{"ending", []string{"idle", "pinned", "told"}, endingRows[:], (*exchange).endingState},
	{"drain", []string{"off", "reading"}, drainRows[:], (*exchange).drainState},
}

// beside returns the side machine that handles an input in the current phase. If the request itself handles the
// input, beside returns nil.
func (x *exchange) beside(in input) *sideMachine {
	switch {
	case in == inClassifyText, in == inClassified, in == inHeldSettle:
		return &sideMachines[0]
	case in >= inExtend && in <= inExtendAbsorb:
		return &sideMachines[1]
	case in == inLeaseTimer, in == inLeaseReport:
		return &sideMachines[2]
	case in == inPinned, in == inTallied:
		return &sideMachines[3]
	case in >= inChunk && in <= inFault && x.drainState() == drainReading:
		return &sideMachines[4]
	}
	return nil
}

func (x *exchange) dispatchBeside(m *sideMachine, in input) {
	state := m.state(x)
	x.settleEvent()
	for i := range m.rows {
		row := &m.rows[i]
		if row.state != state || row.input != in {
			continue
		}
		x.mayEnter = row.moves
		row.handle(x)
		if now := m.state(x); row.next&(1<<now) == 0 && x.s.phase != phaseDone {
			panic("exchange: the row does not lead to this state")
		}
		return
	}
	panic("exchange: no row for this state and input")
}

// The drain reads the provider's output after its end mark so that the connection can be reused. The response does
// not wait for the drain. A disconnect after the response ends the drain.
const (
	drainOff sideState = iota
	drainReading
)

var drainRows = [...]sideRow{
	{drainReading, inChunk, (*exchange).ignore, 1 << drainReading, 0},
	{drainReading, inEnd, (*exchange).ignore, 1 << drainOff, 0},
	{drainReading, inFault, (*exchange).ignore, 1 << drainOff, 0},
}

func (x *exchange) drainState() sideState {
	switch x.s.phase {
	case phaseClosing, phaseKeep, phaseDone:
		if x.pending(idFetch) {
			return drainReading
		}
	}
	return drainOff
}

// stopDrain cancels the fetch when the client disconnects after the response.
func (x *exchange) stopDrain() { x.cancel(idFetch) }
