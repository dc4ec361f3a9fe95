// Package testobject provides an in-memory object for tests, with a reducer, rows, an alarm and posts.
package testobject

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
)

// Object is one object. Its rows and alarm are in Memory.
type Object struct {
	Class abi.Class
	Name  string
	Reads func(*abi.ObjectInput) ([]abi.Range, error)
	Apply func(*abi.ObjectInput) (abi.ObjectOutput, error)

	object.Memory
	Posts []abi.Post // every post so far
}

// Call applies a command in one transaction. A nil command is the alarm.
func (o *Object) Call(nowMs uint64, command []byte) (reply []byte, err error) {
	in := abi.ObjectInput{NowMs: nowMs, Class: o.Class, Name: o.Name, Command: command}
	out, err := object.Reducer{Reads: o.Reads, Apply: o.Apply}.Run(&o.Memory, in)
	if err != nil {
		return nil, err
	}
	o.Posts = append(o.Posts, out.Posts...)
	return out.Reply, nil
}

// Ring runs the alarm if it is set and due at nowMs.
func (o *Object) Ring(nowMs uint64) (rang bool, err error) {
	if o.AlarmMs == 0 || o.AlarmMs > nowMs {
		return false, nil
	}
	o.AlarmMs = 0
	_, err = o.Call(nowMs, nil)
	return true, err
}

// Delete deletes rows.
func (o *Object) Delete(keys ...string) { _ = o.Commit(nil, keys, 0) }

// Read returns the rows of a range, in order.
func (o *Object) Read(g abi.Range) []abi.Row {
	rows, _ := o.Memory.Read(g)
	return rows
}

// Outbox returns the keys and deliveries of the outbox, in order.
func (o *Object) Outbox() (keys []string, deliveries []abi.Delivery, err error) {
	for _, row := range o.Read(abi.Range{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1 << 32}) {
		d, err := abi.DecodeDelivery(row.Value)
		if err != nil {
			return nil, nil, err
		}
		keys, deliveries = append(keys, row.Key), append(deliveries, d)
	}
	return keys, deliveries, nil
}
