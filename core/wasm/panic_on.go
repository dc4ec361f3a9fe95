//go:build tinygo && panicswitch

package main

// With this build, a test can make the instance trap, to check how hosts handle a trap.

var panicArmed bool

//go:wasmexport panic_next
func panicNext() { panicArmed = true }

func panicIfArmed() {
	if panicArmed {
		panic("panic_next was called")
	}
}
