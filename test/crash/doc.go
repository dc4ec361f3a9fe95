// Package crash has tests that run the real binary, kill it under load, step its clock, and check that everything it
// acknowledged is still there. The binary is built with the tag testclock, which adds only the adjustable clock.
package crash
