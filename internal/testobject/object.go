// Package testobject runs an object's reducer on rows in memory, in the way that hosts do. It is for tests.
package testobject

import (
	"maps"
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// Object is one object: its reducer, its storage and its alarm.
type Object struct {
	Class abi.Class
	Name  string
	Reads func(*abi.ObjectInput) ([]abi.Range, error)
	Apply func(*abi.ObjectInput) (abi.ObjectOutput, error)

	Rows    map[string][]byte
	AlarmMs uint64     // 0: none is set
	Posts   []abi.Post // all that it asked for
	order   []string   // the keys of Rows, sorted
}

// Call applies a command in one transaction at a time in Unix milliseconds; a nil one is the alarm.
func (o *Object) Call(nowMs uint64, command []byte) (reply []byte, err error) {
	in := abi.ObjectInput{NowMs: nowMs, Class: o.Class, Name: o.Name, Command: command}
	ranges, err := o.Reads(&in)
	if err != nil {
		return nil, err
	}
	in.Rows = o.Read(ranges...)
	out, err := o.Apply(&in)
	if err == nil && len(out.Ranges) > 0 {
		in.Rows = append(in.Rows, o.Read(out.Ranges...)...)
		in.Round = 1
		out, err = o.Apply(&in)
	}
	if err != nil {
		return nil, err
	}
	o.keep(&out)
	return out.Reply, nil
}

// Ring runs the alarm, if it is set and due by then.
func (o *Object) Ring(nowMs uint64) (rang bool, err error) {
	if o.AlarmMs == 0 || o.AlarmMs > nowMs {
		return false, nil
	}
	o.AlarmMs = 0
	_, err = o.Call(nowMs, nil)
	return true, err
}

// keep is the end of a transaction.
func (o *Object) keep(out *abi.ObjectOutput) {
	if o.Rows == nil {
		o.Rows = map[string][]byte{}
	}
	for _, put := range out.Puts {
		if at, found := slices.BinarySearch(o.order, put.Key); !found {
			o.order = slices.Insert(o.order, at, put.Key)
		}
		o.Rows[put.Key] = slices.Clone(put.Value)
	}
	o.Delete(out.Deletes...)
	if out.AlarmMs != 0 && (o.AlarmMs == 0 || out.AlarmMs < o.AlarmMs) {
		o.AlarmMs = out.AlarmMs
	}
	o.Posts = append(o.Posts, out.Posts...)
}

// Delete removes rows.
func (o *Object) Delete(keys ...string) {
	for _, key := range keys {
		if at, found := slices.BinarySearch(o.order, key); found {
			o.order = slices.Delete(o.order, at, at+1)
		}
		delete(o.Rows, key)
	}
}

// Read gives the rows of ranges, in their order.
func (o *Object) Read(ranges ...abi.Range) (rows []abi.Row) {
	if len(o.order) != len(o.Rows) { // a test has changed Rows itself
		o.order = slices.Sorted(maps.Keys(o.Rows))
	}
	for _, r := range ranges {
		if value, ok := o.Rows[r.Start]; ok && r.End == "" {
			rows = append(rows, abi.Row{Key: r.Start, Value: value})
		}
		at, _ := slices.BinarySearch(o.order, r.Start)
		for n := uint64(0); n < r.Limit && at < len(o.order) && o.order[at] < r.End; n, at = n+1, at+1 {
			rows = append(rows, abi.Row{Key: o.order[at], Value: o.Rows[o.order[at]]})
		}
	}
	return rows
}

// Outbox is what waits to be delivered, in order.
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
