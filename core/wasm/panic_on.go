//go:build tinygo && panicswitch

package main

// This build lets a test make the instance trap, to check how hosts handle that.

var panicArmed bool

//go:wasmexport panic_next
func panicNext() { panicArmed = true }

func panicIfArmed() {
	if panicArmed {
		panic("panic_next was called")
	}
}
