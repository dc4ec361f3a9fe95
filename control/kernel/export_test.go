package kernel

// What the tests use.
var (
	IsRequestID   = isRequestID
	SleepNatively = sleepNatively
)
