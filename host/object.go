package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

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
	// DeliveryFailures counts outbox deliveries that an alarm retries. PostFailures counts posts without a response.
	DeliveryFailures atomic.Int64
	PostFailures     atomic.Int64
}

// StoredObjects run commands on the objects of a store. Outbox rows are delivered in order, at least once. Posts are
// sent in any order, at most once.
type StoredObjects struct {
	Engine Engine
	Store  store.Store
	Stats  *Stats
	// Send sends an outbox row's command to its object. If it returns an error, an alarm retries the delivery.
	// Optional; tests use it to inject faults.
	Send func(context.Context, abi.Delivery) error
	// Alarm is called after a command has set an object's alarm to an earlier time, in Unix milliseconds. Optional.
	Alarm func(atMs uint64)
	// Panicked is called with a code and the stack after recovering from a panic. Optional.
	Panicked func(code string, stack []byte)

	swapping sync.RWMutex // held for reading during commands, and for writing while Engine changes

	mu      sync.Mutex
	active  map[store.Object]*activity
	working working
}

// Replace replaces the engine. When it returns, no command runs on the old one.
func (o *StoredObjects) Replace(engine Engine) {
	o.swapping.Lock()
	defer o.swapping.Unlock()
	o.Engine = engine
}

// activity is the background work of one object in this process. It exists only while there is such work.
type activity struct {
	users      int           // guarded by StoredObjects.mu
	delivering sync.Mutex    // held while the outbox is delivered
	posting    chan struct{} // semaphore with one token per post in flight
}

// begin returns the object's activity, which end releases.
func (o *StoredObjects) begin(id store.Object) *activity {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active == nil {
		o.active = map[store.Object]*activity{}
	}
	if o.active[id] == nil {
		o.active[id] = &activity{posting: make(chan struct{}, abi.PostsAtOnce)}
	}
	o.active[id].users++
	return o.active[id]
}

func (o *StoredObjects) end(id store.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active[id].users--; o.active[id].users == 0 {
		delete(o.active, id)
	}
}

// counted is an object's storage during a command. It counts the operations in stats. A commit that leaves rows in
// the outbox sets the alarm that delivers them if this process dies.
type counted struct {
	store.Rows
	stats  *Stats
	now    uint64
	outbox bool   // the outbox has rows
	alarm  uint64 // earlier alarm that Commit has set; 0: none
	failed bool   // the store failed; the command did not
}

func (c *counted) Read(g abi.Range) ([]abi.Row, error) {
	rows, err := c.Rows.Read(g)
	c.failed = c.failed || err != nil
	c.stats.RowsRead.Add(int64(len(rows)))
	return rows, err
}

func (c *counted) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	if err := store.CheckSize(puts); err != nil {
		return err
	}
	for i := range puts {
		c.outbox = c.outbox || strings.HasPrefix(puts[i].Key, abi.OutboxPrefix)
	}
	if redeliver := c.now + abi.RedeliverMs; c.outbox && (alarmMs == 0 || redeliver < alarmMs) {
		alarmMs = redeliver
	}
	if current := c.Alarm(); alarmMs != 0 && (current == 0 || alarmMs < current) {
		c.stats.AlarmsSet.Add(1)
		c.alarm = alarmMs
	}
	c.stats.RowsWritten.Add(int64(len(puts) + len(deletes)))
	err := c.Rows.Commit(puts, deletes, alarmMs)
	c.failed = err != nil
	return err
}

// Call runs one command. Deliveries and posts are sent after it returns.
func (o *StoredObjects) Call(ctx context.Context, class abi.Class, name, _ string, command []byte) ([]byte, error) {
	o.Stats.ObjectCalls[class].Add(1)
	id := store.Object{Class: class, Name: name}
	out, err := o.run(ctx, id, command)
	switch {
	case errors.Is(err, store.ErrOverloaded):
		return nil, errors.Join(ErrOverloaded, err)
	case err != nil:
		return nil, errors.Join(ErrUnavailable, err)
	}
	o.follow(id, out)
	return out.Reply, nil
}

// run runs a command in its own transaction.
func (o *StoredObjects) run(ctx context.Context, id store.Object, command []byte) (out abi.ObjectOutput, err error) {
	var alarm uint64
	err = o.Store.Run(ctx, id, func(rows store.Rows, now uint64) (err error) {
		c := &counted{Rows: rows, stats: o.Stats, now: now}
		out, err = o.apply(id, c, command)
		alarm = c.alarm
		return err
	})
	if err == nil && alarm != 0 && o.Alarm != nil {
		o.Alarm(alarm)
	}
	return out, err
}

func (o *StoredObjects) apply(id store.Object, rows *counted, command []byte) (out abi.ObjectOutput, err error) {
	defer func() {
		if recover() != nil {
			panicked(o.Panicked, "object_panicked")
			err = errPanicked
		}
	}()
	in := abi.ObjectInput{NowMs: rows.now, Class: id.Class, Name: id.Name, Command: command}
	o.swapping.RLock()
	defer o.swapping.RUnlock()
	return runObject(o.Engine, rows, in)
}

// follow runs a command's deliveries and posts after its reply.
func (o *StoredObjects) follow(id store.Object, out abi.ObjectOutput) {
	if out.Deliver {
		background(&o.working, o.Panicked, func() { _ = o.deliver(context.Background(), id) })
	}
	o.post(id, out.Posts)
}

// Wait blocks until all deliveries and posts in flight are done.
func (o *StoredObjects) Wait() { o.working.Wait() }
