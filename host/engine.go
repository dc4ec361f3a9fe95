// Package host is the core's host in Go. It keeps data in a store. The core is either compiled in or runs as
// WebAssembly under wazero. The host does I/O, keeps time and carries out the core's actions. All decisions are in
// the core.
package host

import (
	"bytes"
	"fmt"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
)

// Engine is a configured core. Its methods take and return encoded messages of package abi and are safe for
// concurrent use. If the core traps, only that call fails.
type Engine interface {
	Configured() abi.Configured
	Step(message []byte) ([]byte, error)
	Reads(message []byte) ([]byte, error)
	Apply(message []byte) ([]byte, error)
}

type native struct {
	core       *core.Core
	configured abi.Configured
}

// NewNative returns an engine with the core compiled into this program.
func NewNative(config abi.Config) (Engine, error) {
	var w abi.Writer
	config.Encode(&w)
	c, out := core.Configure(w.Buf)
	configured, err := abi.DecodeConfigured(out[core.Headroom:])
	if err != nil {
		return nil, err
	}
	return &native{c, configured}, nil
}

func (n *native) Configured() abi.Configured { return n.configured }

// guard turns a panic into an error. The Wasm engine does the same with a trap.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("core: %v", r)
	}
}

func call(f func([]byte) []byte, message []byte) (out []byte, err error) {
	defer guard(&err)
	return f(message)[core.Headroom:], nil
}

func (n *native) Step(message []byte) ([]byte, error)  { return call(n.core.Step, message) }
func (n *native) Reads(message []byte) ([]byte, error) { return call(n.core.Reads, message) }
func (n *native) Apply(message []byte) ([]byte, error) { return call(n.core.Apply, message) }

// Decoded is an Engine that can also run without encoding its inputs and outputs. Replies and posts of its reducer
// become invalid together with the rows that were read.
type Decoded interface {
	Engine
	// Begin returns the stepper of a new exchange.
	Begin() Stepper
	Reducer() object.Reducer
}

func (n *native) Reducer() object.Reducer { return object.Reducer{Reads: n.reads, Apply: n.apply} }

func (n *native) reads(in *abi.ObjectInput) (ranges []abi.Range, err error) {
	defer guard(&err)
	return n.core.Ranges(in)
}

func (n *native) apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	defer guard(&err)
	return n.core.Run(in)
}

func runObject(e Engine, rows object.Rows, in abi.ObjectInput) (abi.ObjectOutput, error) {
	d, ok := e.(Decoded)
	if !ok {
		return object.FromEncoded(e.Reads, e.Apply).Run(rows, in)
	}
	out, err := d.Reducer().Run(rows, in)
	out.Reply = bytes.Clone(out.Reply)
	for i := range out.Posts {
		out.Posts[i].Body = bytes.Clone(out.Posts[i].Body)
	}
	return out, err
}
