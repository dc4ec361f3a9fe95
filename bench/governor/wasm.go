//go:build tinygo

// Command governor compares the speed of the Governor's scan with that of SHA-256. As a WebAssembly module, it
// exports both for the benchmark to call. Natively, it prints the times.
package main

import (
	"crypto/sha256"
	"unsafe"

	"github.com/postern-ai/postern/core/governor"
)

// heapNext is the runtime's bump pointer. scan resets it, so that each scan starts with the same heap.
//
//go:extern runtime.heapptr
var heapNext uintptr

var (
	text     [1 << 20]byte
	rules    *governor.Rules
	heapMark uintptr
)

//go:wasmexport address
func address() uint32 { return uint32(uintptr(unsafe.Pointer(&text))) }

//go:wasmexport scan
func scan(length uint32) uint32 {
	if rules == nil {
		rules = governor.AllRules()
		heapMark = heapNext
	}
	clear(unsafe.Slice((*byte)(unsafe.Pointer(heapMark)), heapNext-heapMark))
	heapNext = heapMark
	return uint32(len(governor.Scan(text[:length], rules, nil)))
}

//go:wasmexport hash
func hash(length uint32) uint32 { return uint32(sha256.Sum256(text[:length])[0]) }

func main() {}
