//go:build tinygo && panicswitch

package main

// The build with the panic switch is for tests of hosts whose instance traps.

var panicArmed bool

//go:wasmexport panic_next
func panicNext() { panicArmed = true }

func panicIfArmed() {
	if panicArmed {
		panic("panic_next was called")
	}
}
