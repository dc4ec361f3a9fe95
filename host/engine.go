// Package host runs the core in Go: natively or as WebAssembly under wazero, over stores in memory. It moves
// bytes, keeps time, and does what the core's actions say; it decides nothing.
package host

import (
	"fmt"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
)

// Engine is a configured core. Its methods take and give the messages of package abi, may be called at the
// same time, and fail if the core trapped, which harms that call only.
type Engine interface {
	Configured() abi.Configured
	Step(message []byte) ([]byte, error)
	Reads(message []byte) ([]byte, error)
	Apply(message []byte) ([]byte, error)
}

// native is the core as ordinary Go.
type native struct {
	core       *core.Core
	configured abi.Configured
}

// NewNative configures the core that is compiled into this program.
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

// guard makes a panic what a trap is in wasm.
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
