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
	"github.com/postern-ai/postern/store"
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
	decoded    decodedObjects
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
	return &native{core: c, configured: configured}, nil
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

// Decoded is an Engine that can also run without encoding its inputs and outputs. Replies and posts of objects' commands
// become invalid together with the rows that were read.
type Decoded interface {
	Engine
	// Begin returns the stepper of a new exchange.
	Begin() Stepper
	// Run runs an object's command on its rows, see object.Reducer.
	Run(object.Rows, abi.ObjectInput) (abi.ObjectOutput, error)
}

func (n *native) Run(rows object.Rows, in abi.ObjectInput) (abi.ObjectOutput, error) {
	o := store.Object{Class: in.Class, Name: in.Name}
	r := running{n.core.Begin(n.decoded.take(o))}
	out, err := object.Reducer{Reads: r.reads, Apply: r.apply}.Run(rows, in)
	if err == nil {
		n.decoded.put(o, r.Kept())
	}
	return out, err
}

type running struct{ core.Running }

func (r *running) reads(in *abi.ObjectInput) (ranges []abi.Range, err error) {
	defer guard(&err)
	return r.Reads(in)
}

func (r *running) apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	defer guard(&err)
	return r.Apply(in)
}

func runObject(e Engine, rows object.Rows, in abi.ObjectInput) (abi.ObjectOutput, error) {
	d, ok := e.(Decoded)
	if !ok {
		return object.FromEncoded(e.Reads, e.Apply).Run(copyingRows{rows}, in)
	}
	out, err := d.Run(rows, in)
	out.Reply = bytes.Clone(out.Reply)
	for i := range out.Posts {
		out.Posts[i].Body = bytes.Clone(out.Posts[i].Body)
	}
	return out, err
}

// copyingRows copies the values that a command puts. They are parts of one message, which would stay in memory with them.
type copyingRows struct{ object.Rows }

func (r copyingRows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	for i := range puts {
		puts[i].Value = bytes.Clone(puts[i].Value)
	}
	return r.Rows.Commit(puts, deletes, alarmMs)
}
