// Package core is Postern's policy: pure functions from bytes to bytes. Whoever runs it moves the bytes,
// keeps the time, and does what the actions say (package abi).
package core

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// Headroom is how many bytes are left free in front of every result, for the length that the wasm build
// writes there. Others cut them off.
const Headroom = 4

// Bounds of what a host remembers. An isolate has 128 MiB, most of them for its instance and for bodies under
// way; a key's record may be late by the least that KV's own caches can be told, 60 seconds
// (developers.cloudflare.com/kv/api/read-key-value-pairs: cacheTtl).
const (
	memoryBytes         = 16 << 20
	memoryEntryBytes    = 1 << 20
	memoryOverheadBytes = 128 // about what an entry takes beside its value: empty ones must not count as nothing
	kvCacheSeconds      = 60
)

// Core is a configured core. It does not change after Configure and may be shared.
type Core struct{ config *config.Config }

// Configure reads an abi.Config and gives back, besides the core, an abi.Configured. With an error in it
// the core must not be used.
func Configure(message []byte) (*Core, []byte) {
	answer := abi.Configured{
		Version: abi.Version, RequestHeaders: exchange.RequestHeaders, ResponseHeaders: exchange.ResponseHeaders,
		MemoryBytes: memoryBytes, MemoryEntryBytes: memoryEntryBytes, MemoryOverheadBytes: memoryOverheadBytes,
		KVCacheSeconds: kvCacheSeconds, LastResortStatus: fault.Internal.Status, LastResortHeaders: exchange.ErrorHeaders,
	}
	var c *config.Config
	last := fault.Internal
	in, err := abi.DecodeConfig(message)
	if err != nil {
		answer.Error = err.Error()
	} else if c, answer.Error = config.Parse(in); answer.Error != "" {
		last = fault.Misconfigured
	}
	before, after := last.Halves()
	answer.LastResortBody = [2][]byte{[]byte(before), []byte(after)}
	return &Core{c}, encode(&answer, 1024)
}

type encoder interface{ Encode(*abi.Writer) }

func encode(v encoder, size int) []byte {
	w := abi.Writer{Buf: make([]byte, Headroom, Headroom+size)}
	v.Encode(&w)
	return w.Buf
}

// Step moves one exchange on: an abi.StepInput in, an abi.StepOutput out. A message that no host of this
// version sends panics, as does any other breach of the contract: the host drops the instance.
func (c *Core) Step(message []byte) []byte {
	in, err := abi.DecodeStepInput(message)
	if err != nil {
		panic(err.Error())
	}
	out := exchange.Step(c.config, &in)
	return encode(&out, out.Size())
}

// Reads names the rows that a command on an object needs: an abi.ObjectInput in, an abi.ObjectOutput with
// Ranges out.
func (c *Core) Reads(message []byte) []byte {
	in, err := abi.DecodeObjectInput(message)
	if err != nil {
		panic(err.Error())
	}
	var out abi.ObjectOutput
	switch in.Class {
	case abi.ClassKeyMeter:
		out.Ranges, err = keymeter.Reads(&in)
	case abi.ClassLedger:
		out.Ranges, err = ledger.Reads(&in)
	case abi.ClassDirectory:
		out.Ranges, err = directory.Reads(in.Command)
	default:
		err = abi.ErrMalformed
	}
	if err != nil {
		panic(err.Error())
	}
	return encode(&out, 256)
}

// Apply runs a command on an object's rows: an abi.ObjectInput in, an abi.ObjectOutput out.
func (c *Core) Apply(message []byte) []byte {
	in, err := abi.DecodeObjectInput(message)
	if err != nil {
		panic(err.Error())
	}
	var out abi.ObjectOutput
	switch in.Class {
	case abi.ClassKeyMeter:
		out, err = keymeter.Apply(c.config, &in)
	case abi.ClassLedger:
		out, err = ledger.Apply(&in)
	case abi.ClassDirectory:
		out, err = directory.Apply(&in)
	default:
		err = abi.ErrMalformed
	}
	if err != nil {
		panic(err.Error())
	}
	return encode(&out, 512+len(message))
}
