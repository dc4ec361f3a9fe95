package kernel

// MaxRunCalls is the approximate number of object calls per run. A Worker may make 10,000.
const MaxRunCalls = 1000

// Run is one run's part of a round.
type Run struct {
	*Plane
	CallsLeft int // remaining calls to objects
}
