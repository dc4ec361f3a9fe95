// Package sim is a world for tests: callers, isolates, objects, KV, providers, operators and a clock, all from one
// seed. One seed is one run, the same every time. The package has test files only: nothing ships.
package sim
