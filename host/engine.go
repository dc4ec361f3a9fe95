// Package host runs the core in Go, compiled in or as WebAssembly under wazero, with in-memory stores. It does I/O,
// keeps time and carries out the core's actions. All decisions are in the core.
package host

import (
	"fmt"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
)

// Engine is a configured core. Its methods take and return encoded messages of package abi and are safe for
// concurrent use. They fail if the core traps; other calls are not affected.
type Engine interface {
	Configured() abi.Configured
	Step(message []byte) ([]byte, error)
	Reads(message []byte) ([]byte, error)
	Apply(message []byte) ([]byte, error)
}

// native is the core compiled into this program.
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

// guard turns a panic into an error, as wasm does with a trap.
func guard(f func([]byte) []byte, message []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("core: %v", r)
		}
	}()
	return f(message)[core.Headroom:], nil
}

func (n *native) Step(message []byte) ([]byte, error)  { return guard(n.core.Step, message) }
func (n *native) Reads(message []byte) ([]byte, error) { return guard(n.core.Reads, message) }
func (n *native) Apply(message []byte) ([]byte, error) { return guard(n.core.Apply, message) }
