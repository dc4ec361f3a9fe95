package kernel

// MaxRunCalls is the approximate maximum number of object calls per run. On a paid plan of the platform, a Worker may
// make 10,000.
const MaxRunCalls = 1000

// Run is one run's part of a round.
type Run struct {
	*Plane
	CallsLeft int // remaining calls to objects
}
