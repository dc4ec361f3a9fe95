// Package crash tests the real binary. The tests kill it under load, move its clock, and check that everything that
// it has acknowledged is still there. The binary is built with the tag testclock, which adds only the adjustable
// clock.
package crash
