//go:build tinygo

// This is the core as a WebAssembly module. It exports its memory and the functions below, and imports nothing.
//
// A host calls reserve(n), writes n bytes of input at the returned pointer, and calls configure, step, reads or
// apply with n. Each returns a pointer to a 32-bit little-endian length, followed by that many bytes of output.
// The output is valid until the next reserve, which resets the heap to its state after configure. Memory
// allocated during a call must not be used after it, so package variables may be written only in configure.
package main

import (
	"unsafe"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
)

// heapNext is the runtime's bump pointer: with -gc=leaking, allocation only moves it forward.
//
//go:extern runtime.heapptr
var heapNext uintptr

var (
	heapMark uintptr // reserve keeps the memory below it
	input    []byte
	engine   *core.Core
)

func main() {}

//go:wasmexport abi_version
func abiVersion() uint32 { return abi.Version }

//go:wasmexport reserve
func reserve(n uint32) uint32 {
	if heapMark == 0 {
		heapMark = heapNext
	}
	// The allocator expects zeroed memory, like fresh wasm memory, so clear the part that was used.
	used := unsafe.Slice((*byte)(unsafe.Pointer(heapMark)), heapNext-heapMark)
	clear(used)
	heapNext = heapMark
	input = make([]byte, n)
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

//go:wasmexport configure
func configure(n uint32) uint32 {
	// The parsed configuration shares memory with the input, so both are retained.
	var out []byte
	engine, out = core.Configure(input[:n])
	result := deliver(out)
	heapMark = heapNext
	return result
}

//go:wasmexport step
func step(n uint32) uint32 {
	panicIfArmed()
	return deliver(engine.Step(input[:n]))
}

//go:wasmexport reads
func reads(n uint32) uint32 { return deliver(engine.Reads(input[:n])) }

//go:wasmexport apply
func apply(n uint32) uint32 { return deliver(engine.Apply(input[:n])) }

// deliver writes the length of a result into the four bytes of headroom before it, and returns its address.
func deliver(out []byte) uint32 {
	n := uint32(len(out) - core.Headroom)
	out[0], out[1], out[2], out[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(out))))
}
