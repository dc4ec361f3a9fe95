// Package core implements Postern's policy as pure functions from bytes to bytes. A host moves the bytes, keeps the
// time, and performs the actions (package abi).
package core

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/move"
	"github.com/postern-ai/postern/core/provider"
)

// Headroom is the number of reserved bytes before every result. Package wasm writes the result's length there. Other
// users of Core skip them.
const Headroom = abi.LengthBytes

// Limits for host memory. An isolate has 128 MiB, and most of that is for its instance and for bodies in flight.
// kvCacheSeconds is the maximum staleness of a key's record. It is KV's minimum cache TTL
// (developers.cloudflare.com/kv/api/read-key-value-pairs: cacheTtl).
const (
	memoryBytes         = 16 << 20
	memoryEntryBytes    = 1 << 20
	memoryOverheadBytes = 128 // the approximate size of an entry without its value, so that empty entries also count
	kvCacheSeconds      = 60
	pinnedEntries       = 1000 // keys with unreported data in one isolate; each entry is below 64 KiB, and most are a few KiB (package lease)
)

// Core is a configured core. It is immutable after Configure and may be shared.
type Core struct{ config *config.Config }

// Configure decodes an abi.Config and returns the core and an encoded abi.Configured. If Configured.Error is set,
// the core must not be used.
func Configure(message []byte) (*Core, []byte) {
	answer := abi.Configured{
		Version: abi.Version, RequestHeaders: exchange.RequestHeaders, ResponseHeaders: exchange.ResponseHeaders,
		MemoryBytes: memoryBytes, MemoryEntryBytes: memoryEntryBytes, MemoryOverheadBytes: memoryOverheadBytes,
		PinnedEntries: pinnedEntries, KVCacheSeconds: kvCacheSeconds, LastResortStatus: fault.Internal.Status(), LastResortHeaders: exchange.ErrorHeaders,
	}
	var c *config.Config
	last := fault.Internal
	in, err := abi.DecodeConfig(message)
	if err != nil {
		answer.Error = err.Error()
	} else if c, answer.Error = config.Parse(in); answer.Error == "" {
		answer.Error = provider.CheckWires(c)
	}
	if err == nil && answer.Error != "" {
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

// Step advances one exchange. It takes an abi.StepInput and returns an abi.StepOutput. It panics if the message is
// malformed or the contract is violated in any other way. The host then drops the instance.
func (c *Core) Step(message []byte) []byte {
	in, err := abi.DecodeStepInput(message)
	if err != nil {
		panic(err.Error())
	}
	out := exchange.Step(c.config, &in)
	return encode(&out, out.Size())
}

// Advance is Step for hosts in Go that keep the exchange's state and its pinned entry decoded; see exchange.State.Step.
// The output may share memory with the input and with the core, so neither must be changed afterward.
func (c *Core) Advance(s *exchange.State, room *exchange.Room, in *abi.StepInput, entry *lease.Entry) abi.StepOutput {
	return s.Step(room, c.config, in, entry)
}

// Encode returns the encoded form of a state.
func (c *Core) Encode(s *exchange.State) []byte { return s.Encode(c.config) }

// Reads returns the row ranges that an object's command needs. It takes an abi.ObjectInput and returns an
// abi.ObjectOutput with Ranges.
func (c *Core) Reads(message []byte) []byte {
	in, err := abi.DecodeObjectInput(message)
	if err != nil {
		panic(err.Error())
	}
	var out abi.ObjectOutput
	if out.Ranges, err = c.Ranges(&in); err != nil {
		panic(err.Error())
	}
	return encode(&out, 256)
}

// Ranges is Reads without the encoding.
func (c *Core) Ranges(in *abi.ObjectInput) ([]abi.Range, error) {
	switch {
	case move.Is(in.Command):
		return move.Reads(in.Command)
	case in.Class == abi.ClassKeyMeter:
		return keymeter.Reads(in)
	case in.Class == abi.ClassLedger:
		return ledger.Reads(in)
	case in.Class == abi.ClassDirectory:
		return directory.Reads(in.Command)
	}
	return nil, abi.ErrMalformed
}

// Apply runs a command on an object's rows. It takes an abi.ObjectInput and returns an abi.ObjectOutput.
func (c *Core) Apply(message []byte) []byte {
	in, err := abi.DecodeObjectInput(message)
	if err != nil {
		panic(err.Error())
	}
	out, err := c.Run(&in)
	if err != nil {
		panic(err.Error())
	}
	return encode(&out, 512+len(message))
}

// Run is Apply without the encoding. As with Advance, the output may share memory with the input.
func (c *Core) Run(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	switch {
	case move.Is(in.Command):
		out, err := move.Apply(in)
		if in.Class == abi.ClassDirectory {
			directory.RepublishLoaded(&out)
		}
		return out, err
	case in.Class == abi.ClassKeyMeter:
		return keymeter.Apply(c.config, in)
	case in.Class == abi.ClassLedger:
		return ledger.Apply(in)
	case in.Class == abi.ClassDirectory:
		return directory.Apply(in)
	}
	return abi.ObjectOutput{}, abi.ErrMalformed
}
