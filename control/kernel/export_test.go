package kernel

// SleepNatively is what the tests use.
var SleepNatively = sleepNatively
