package core

import (
	"bytes"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/move"
)

// Kept is what a host may keep of an object between its commands, so that the next one need not decode it. It makes no
// difference to the results, whatever has happened to the object's rows since then. Only one command may use it.
type Kept interface {
	// Bytes returns its approximate size in memory.
	Bytes() int
}

// Running is one command of an object. Its methods do the same as Ranges and Run, and decode the command only once.
type Running struct {
	core *Core
	kept *keymeter.Kept // before Apply: of the last command; then: for the next one
	turn *keymeter.Turn // nil: not a command of a meter
}

// Begin prepares for a command on an object. kept is what the object's last command left, or nil.
func (c *Core) Begin(kept Kept) Running {
	meter, _ := kept.(*keymeter.Kept)
	return Running{core: c, kept: meter}
}

// Reads returns the row ranges that the command needs.
func (r *Running) Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	if in.Class != abi.ClassKeyMeter || move.Is(in.Command) {
		return r.core.Ranges(in)
	}
	turn, err := keymeter.NewTurn(in.Command)
	if err != nil {
		return nil, err
	}
	r.turn = &turn
	return turn.Reads(), nil
}

// Apply runs the command on the object's rows. Unlike the output of Run, the rows that it puts do not share memory with
// the input.
func (r *Running) Apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	if r.turn != nil {
		out, r.kept, err = r.turn.Apply(r.core.config, in, r.kept)
		return out, err
	}
	out, err = r.core.Run(in)
	for i := range out.Puts {
		out.Puts[i].Value = bytes.Clone(out.Puts[i].Value)
	}
	return out, err
}

// Kept returns what the host may keep once the command's changes are committed, or nil.
func (r *Running) Kept() Kept {
	if r.turn == nil || r.kept == nil {
		return nil
	}
	return r.kept
}
