package kernel

// SleepNatively is sleepNatively for the tests.
var SleepNatively = sleepNatively
