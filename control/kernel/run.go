package kernel

// MaxRunCalls is approximately the number of calls to objects of one run; a Worker may make 10,000.
const MaxRunCalls = 1000

// Run is one run's part of a round.
type Run struct {
	*Plane
	CallsLeft int // remaining calls to objects
}
