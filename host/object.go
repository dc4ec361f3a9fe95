package host

import (
	"context"
	"errors"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
)

// ErrOverloaded and ErrUnavailable are how a call to an object fails. An unavailable one may be repeated.
var (
	ErrOverloaded  = errors.New("host: object overloaded")
	ErrUnavailable = errors.New("host: object unavailable")
)

// Objects calls commands on objects.
type Objects interface {
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Stats counts what costs money on the platform.
type Stats struct {
	ObjectCalls [4]atomic.Int64 // by class
	KVReads     atomic.Int64
	KVWrites    atomic.Int64
	RowsRead    atomic.Int64
	RowsWritten atomic.Int64
	AlarmsSet   atomic.Int64
	Fetches     atomic.Int64
	Steps       atomic.Int64
}

// MemoryObjects are objects in this process: each runs one command at a time, its rows change in one step,
// its outbox is delivered at least once and in order, what it posts at most once and in none.
type MemoryObjects struct {
	Engine Engine
	Clock  Clock
	Stats  *Stats
	// Deliver carries one outbox row out; it is where tests lose deliveries.
	Deliver func(abi.Delivery) error

	mu      sync.Mutex
	objects map[objectID]*object
	working sync.WaitGroup
}

type objectID struct {
	class abi.Class
	name  string
}

type object struct {
	mu         sync.Mutex
	delivering sync.Mutex
	rows       map[string][]byte
	alarmMs    uint64
	posting    chan struct{} // holds a token for each Post under way
}

func (o *MemoryObjects) object(id objectID) *object {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = map[objectID]*object{}
	}
	if o.objects[id] == nil {
		o.objects[id] = &object{rows: map[string][]byte{}, posting: make(chan struct{}, abi.PostsAtOnce)}
	}
	return o.objects[id]
}

// Call runs one command. What must be delivered or posted goes out after it returns.
func (o *MemoryObjects) Call(_ context.Context, class abi.Class, name, _ string, command []byte) ([]byte, error) {
	o.Stats.ObjectCalls[class].Add(1)
	id := objectID{class, name}
	out, err := o.run(id, command)
	if err != nil {
		return nil, errors.Join(ErrUnavailable, err)
	}
	o.follow(id, out)
	return out.Reply, nil
}

// run applies one command in one transaction.
func (o *MemoryObjects) run(id objectID, command []byte) (abi.ObjectOutput, error) {
	object := o.object(id)
	object.mu.Lock()
	defer object.mu.Unlock()
	in := abi.ObjectInput{NowMs: o.Clock.Now(), Class: id.class, Name: id.name, Command: command}
	wanted, err := o.ask(o.Engine.Reads, &in)
	if err != nil {
		return wanted, err
	}
	in.Rows = o.read(object, wanted.Ranges)
	out, err := o.ask(o.Engine.Apply, &in)
	if err == nil && len(out.Ranges) > 0 {
		in.Rows = append(in.Rows, o.read(object, out.Ranges)...)
		in.Round = 1
		out, err = o.ask(o.Engine.Apply, &in)
	}
	if err != nil {
		return out, err
	}
	for _, row := range out.Puts {
		object.rows[row.Key] = row.Value
	}
	for _, key := range out.Deletes {
		delete(object.rows, key)
	}
	o.Stats.RowsWritten.Add(int64(len(out.Puts) + len(out.Deletes)))
	o.setAlarm(object, out.AlarmMs)
	return out, nil
}

func (o *MemoryObjects) ask(f func([]byte) ([]byte, error), in *abi.ObjectInput) (abi.ObjectOutput, error) {
	var w abi.Writer
	in.Encode(&w)
	out, err := f(w.Buf)
	if err != nil {
		return abi.ObjectOutput{}, err
	}
	return abi.DecodeObjectOutput(out)
}

func (o *MemoryObjects) read(object *object, ranges []abi.Range) []abi.Row {
	var rows []abi.Row
	for _, g := range ranges {
		if g.End == "" {
			if value, ok := object.rows[g.Start]; ok {
				rows = append(rows, abi.Row{Key: g.Start, Value: value})
			}
			continue
		}
		var keys []string
		for key := range object.rows {
			if key >= g.Start && key < g.End {
				keys = append(keys, key)
			}
		}
		sort.Strings(keys)
		for _, key := range keys[:min(len(keys), int(g.Limit))] {
			rows = append(rows, abi.Row{Key: key, Value: object.rows[key]})
		}
	}
	o.Stats.RowsRead.Add(int64(len(rows)))
	return rows
}

func (o *MemoryObjects) setAlarm(object *object, ms uint64) {
	if ms != 0 && (object.alarmMs == 0 || ms < object.alarmMs) {
		object.alarmMs = ms
		o.Stats.AlarmsSet.Add(1)
	}
}

// deliver carries the outbox out, oldest first. At the first failure it stops and leaves the rest to an alarm.
func (o *MemoryObjects) deliver(id objectID) {
	object := o.object(id)
	object.delivering.Lock()
	defer object.delivering.Unlock()
	for {
		object.mu.Lock()
		rows := o.read(object, []abi.Range{{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1}})
		object.mu.Unlock()
		if len(rows) == 0 {
			return
		}
		d, err := abi.DecodeDelivery(rows[0].Value)
		if err == nil {
			err = o.Deliver(d)
		}
		object.mu.Lock()
		if err != nil {
			o.setAlarm(object, o.Clock.Now()+abi.RedeliverMs)
			object.mu.Unlock()
			return
		}
		delete(object.rows, rows[0].Key)
		o.Stats.RowsWritten.Add(1)
		object.mu.Unlock()
	}
}

// Wait returns when all deliveries and posts that were begun are done.
func (o *MemoryObjects) Wait() { o.working.Wait() }

// NextAlarm is when the first alarm rings, 0 if none is set.
func (o *MemoryObjects) NextAlarm() uint64 {
	_, at := o.nextAlarm()
	return at
}

func (o *MemoryObjects) nextAlarm() (first objectID, at uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, object := range o.objects {
		object.mu.Lock()
		if object.alarmMs != 0 && (at == 0 || object.alarmMs < at || object.alarmMs == at && id.name < first.name) {
			first, at = id, object.alarmMs
		}
		object.mu.Unlock()
	}
	return first, at
}

// RingNext runs the alarm that is due first, if it is due by now.
func (o *MemoryObjects) RingNext() (rang bool) {
	id, at := o.nextAlarm()
	if at == 0 || at > o.Clock.Now() {
		return false
	}
	object := o.object(id)
	object.mu.Lock()
	object.alarmMs = 0
	object.mu.Unlock()
	out, err := o.run(id, nil)
	if err != nil {
		object.mu.Lock()
		o.setAlarm(object, o.Clock.Now()+abi.RedeliverMs)
		object.mu.Unlock()
		return true
	}
	o.post(id, out.Posts)
	if out.Deliver {
		o.deliver(id)
	}
	return true
}
