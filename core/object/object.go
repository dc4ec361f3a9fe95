// Package object runs an object's command on its storage in three steps: reads, apply and commit. It contains no
// policy and nothing specific to a class of object. Hosts, tests and simulations supply a reducer and rows.
package object

import (
	"errors"

	"github.com/postern-ai/postern/core/abi"
)

// Rows is an object's storage during one command. The command has exclusive use of it.
type Rows interface {
	// Read returns the rows in a range, in the order of their keys.
	Read(abi.Range) ([]abi.Row, error)
	// Commit puts and deletes rows in one transaction. If alarmMs is not 0 and is earlier than the current alarm,
	// Commit also sets the alarm. If it fails, nothing has changed.
	Commit(puts []abi.Row, deletes []string, alarmMs uint64) error
}

// Reducer is the policy of an object. Both functions are pure. abi.ObjectInput and abi.ObjectOutput describe their
// contract.
type Reducer struct {
	Reads func(*abi.ObjectInput) ([]abi.Range, error)
	Apply func(*abi.ObjectInput) (abi.ObjectOutput, error)
}

// FromEncoded makes a Reducer from two functions that take an encoded abi.ObjectInput and return an encoded
// abi.ObjectOutput.
func FromEncoded(reads, apply func([]byte) ([]byte, error)) Reducer {
	call := func(f func([]byte) ([]byte, error), in *abi.ObjectInput) (abi.ObjectOutput, error) {
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
			out, err := call(reads, in)
			return out.Ranges, err
		},
		Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) { return call(apply, in) },
	}
}

// ErrThirdRound means that apply requested more rows in its second round. It may do so only in the first.
var ErrThirdRound = errors.New("object: apply requested rows twice")

// Run applies one command and commits its changes. If it returns an error, nothing has changed. in is the input
// without Round and Rows. An empty Command means the alarm. The caller sends the output's reply, outbox deliveries
// and posts.
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

// NextDelivery returns the oldest delivery in the outbox and its row key. If the outbox is empty, the key is empty.
// After the delivery, the caller must delete the key.
func NextDelivery(rows Rows) (key string, d abi.Delivery, err error) {
	found, err := rows.Read(abi.Range{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1})
	if err != nil || len(found) == 0 {
		return "", d, err
	}
	d, err = abi.DecodeDelivery(found[0].Value)
	return found[0].Key, d, err
}
