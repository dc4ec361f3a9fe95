//go:build tinygo && panicswitch

package main

// The build with the panic switch is for tests of what a host does when an instance traps.

var panicArmed bool

//go:wasmexport panic_next
func panicNext() { panicArmed = true }

func panicIfAsked() {
	if panicArmed {
		panic("asked to")
	}
}
