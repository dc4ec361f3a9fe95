package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
)

// Errors of a call to an object. Only ErrUnavailable may be retried.
var (
	ErrOverloaded  = errors.New("host: object overloaded")
	ErrUnavailable = errors.New("host: object unavailable")
)

// Objects runs commands on objects and returns their replies.
type Objects interface {
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Stats counts the operations that Cloudflare bills.
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

// MemoryObjects are in-process objects. Each runs one command at a time and commits its rows atomically. Outbox rows
// are delivered in order, at least once. Posts are sent in any order, at most once.
type MemoryObjects struct {
	Engine Engine
	Clock  Clock
	Stats  *Stats
	// Deliver sends one outbox row; an error makes an alarm retry it.
	Deliver func(abi.Delivery) error

	mu      sync.Mutex
	objects map[objectID]*memoryObject
	working sync.WaitGroup
}

type objectID struct {
	class abi.Class
	name  string
}

// memoryObject is one object. mu guards its storage and is held while a command runs.
type memoryObject struct {
	mu         sync.Mutex
	delivering sync.Mutex
	storage    counted
	posting    chan struct{} // semaphore with a token per post in flight
}

// counted is an object's storage with its use counted in stats.
type counted struct {
	object.Memory
	stats *Stats
}

func (c *counted) Read(g abi.Range) ([]abi.Row, error) {
	rows, err := c.Memory.Read(g)
	c.stats.RowsRead.Add(int64(len(rows)))
	return rows, err
}

func (c *counted) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	before := c.AlarmMs
	err := c.Memory.Commit(puts, deletes, alarmMs)
	c.stats.RowsWritten.Add(int64(len(puts) + len(deletes)))
	if c.AlarmMs != before {
		c.stats.AlarmsSet.Add(1)
	}
	return err
}

func (o *MemoryObjects) object(id objectID) *memoryObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = map[objectID]*memoryObject{}
	}
	if o.objects[id] == nil {
		o.objects[id] = &memoryObject{storage: counted{stats: o.Stats}, posting: make(chan struct{}, abi.PostsAtOnce)}
	}
	return o.objects[id]
}

// Call runs one command. Deliveries and posts are sent after it returns.
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
	of := o.object(id)
	of.mu.Lock()
	defer of.mu.Unlock()
	in := abi.ObjectInput{NowMs: o.Clock.Now(), Class: id.class, Name: id.name, Command: command}
	return object.FromEncoded(o.Engine.Reads, o.Engine.Apply).Run(&of.storage, in)
}

// deliver sends the outbox, oldest first. It stops at the first failure and sets an alarm for the rest.
func (o *MemoryObjects) deliver(id objectID) {
	of := o.object(id)
	of.delivering.Lock()
	defer of.delivering.Unlock()
	for {
		key, d, err := of.next()
		if key == "" {
			return
		}
		if err == nil {
			err = o.Deliver(d)
		}
		if err != nil {
			of.commit(nil, o.Clock.Now()+abi.RedeliverMs)
			return
		}
		of.commit([]string{key}, 0)
	}
}

func (of *memoryObject) next() (string, abi.Delivery, error) {
	of.mu.Lock()
	defer of.mu.Unlock()
	return object.NextDelivery(&of.storage)
}

// commit deletes rows and sets the alarm outside a command.
func (of *memoryObject) commit(deletes []string, alarmMs uint64) {
	of.mu.Lock()
	defer of.mu.Unlock()
	_ = of.storage.Commit(nil, deletes, alarmMs)
}

// Wait blocks until all deliveries and posts in flight are done.
func (o *MemoryObjects) Wait() { o.working.Wait() }

// NextAlarm returns the time of the earliest alarm in Unix milliseconds, or 0 if none is set.
func (o *MemoryObjects) NextAlarm() uint64 {
	_, at := o.nextAlarm()
	return at
}

func (o *MemoryObjects) nextAlarm() (first objectID, at uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, of := range o.objects {
		of.mu.Lock()
		if alarm := of.storage.AlarmMs; alarm != 0 && (at == 0 || alarm < at || alarm == at && id.name < first.name) {
			first, at = id, alarm
		}
		of.mu.Unlock()
	}
	return first, at
}

// RingNext runs the earliest alarm if it is due, and reports whether it ran one.
func (o *MemoryObjects) RingNext() (rang bool) {
	id, at := o.nextAlarm()
	if at == 0 || at > o.Clock.Now() {
		return false
	}
	of := o.object(id)
	of.mu.Lock()
	of.storage.AlarmMs = 0
	of.mu.Unlock()
	out, err := o.run(id, nil)
	if err != nil {
		of.commit(nil, o.Clock.Now()+abi.RedeliverMs)
		return true
	}
	o.post(id, out.Posts)
	if out.Deliver {
		o.deliver(id)
	}
	return true
}
