package kernel

// MaxRunCalls is the approximate maximum number of object calls per run. On a paid plan of the platform, a Worker may
// make 10,000. The daily work of a project takes about 12 calls, so the runs of a day cover about 8,000 projects.
const MaxRunCalls = 4000

// Run is one run's part of a round.
type Run struct {
	*Plane
	CallsLeft int // remaining calls to objects
}
