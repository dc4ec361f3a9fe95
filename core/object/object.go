// Package object runs one command of an object on its storage: reads, apply, commit. It holds no policy and
// knows no object: hosts, tests and simulations give it a reducer and rows.
package object

import (
	"errors"

	"github.com/postern-ai/postern/core/abi"
)

// Rows is an object's storage during one command. Nobody else may use it meanwhile.
type Rows interface {
	// Read gives the rows of a range, in the order of their keys.
	Read(abi.Range) ([]abi.Row, error)
	// Commit puts and deletes rows in one transaction, and sets the alarm if alarmMs is not 0 and earlier than
	// the alarm that stands. If it fails, nothing has changed.
	Commit(puts []abi.Row, deletes []string, alarmMs uint64) error
}

// Reducer is the policy of objects. Both functions are pure; package abi says what they give and take.
type Reducer struct {
	Reads func(*abi.ObjectInput) ([]abi.Range, error)
	Apply func(*abi.ObjectInput) (abi.ObjectOutput, error)
}

// Coded is the reducer of an engine that gives and takes encoded messages.
func Coded(reads, apply func([]byte) ([]byte, error)) Reducer {
	ask := func(f func([]byte) ([]byte, error), in *abi.ObjectInput) (abi.ObjectOutput, error) {
		var w abi.Writer
		in.Encode(&w)
		out, err := f(w.Buf)
		if err != nil {
			return abi.ObjectOutput{}, err
		}
		return abi.DecodeObjectOutput(out)
	}
	return Reducer{
		Reads: func(in *abi.ObjectInput) ([]abi.Range, error) {
			out, err := ask(reads, in)
			return out.Ranges, err
		},
		Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) { return ask(apply, in) },
	}
}

// ErrThirdRound is a breach of the contract: apply may ask for more rows once.
var ErrThirdRound = errors.New("object: apply asked for rows twice")

// Run applies one command: in without its Round and Rows, whose empty Command is the alarm. After an error
// nothing has changed. The caller replies, delivers and posts what the output says.
func (r Reducer) Run(rows Rows, in abi.ObjectInput) (abi.ObjectOutput, error) {
	ranges, err := r.Reads(&in)
	if err != nil {
		return abi.ObjectOutput{}, err
	}
	var out abi.ObjectOutput
	for in.Round = 0; ; in.Round++ {
		for _, g := range ranges {
			found, err := rows.Read(g)
			if err != nil {
				return abi.ObjectOutput{}, err
			}
			in.Rows = append(in.Rows, found...)
		}
		if out, err = r.Apply(&in); err != nil {
			return abi.ObjectOutput{}, err
		}
		if ranges = out.Ranges; len(ranges) == 0 {
			return out, rows.Commit(out.Puts, out.Deletes, out.AlarmMs)
		}
		if in.Round > 0 {
			return abi.ObjectOutput{}, ErrThirdRound
		}
	}
}

// NextDelivery is the oldest row of the outbox, and its key, empty if there is none. Once it is delivered,
// commit the key's deletion.
func NextDelivery(rows Rows) (key string, d abi.Delivery, err error) {
	found, err := rows.Read(abi.Range{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1})
	if err != nil || len(found) == 0 {
		return "", d, err
	}
	d, err = abi.DecodeDelivery(found[0].Value)
	return found[0].Key, d, err
}
