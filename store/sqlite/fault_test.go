package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/store/storetest"
	"github.com/postern-ai/postern/test/faultvfs"
)

// giveUp is the time after which a test stops waiting for a recovery.
const giveUp = 20 * time.Second

// disk is a store on a faulty disk. Counters are in several objects. For each counter, disk has the number of
// increments that were acknowledged.
type disk struct {
	*testing.T
	fs     *faultvfs.FS
	config sqlite.Config
	store  *sqlite.Store

	mu        sync.Mutex
	acked     map[string]int // the largest acknowledged number
	attempted map[string]int // increments begun
	succeeded map[string]int // increments acknowledged
}

func newDisk(t *testing.T, seed uint64, config sqlite.Config) *disk {
	d := &disk{T: t, fs: faultvfs.New(t.TempDir(), seed), config: config, acked: map[string]int{}, attempted: map[string]int{}, succeeded: map[string]int{}}
	d.config.Dir, d.config.VFS, d.config.Clock = "/data", d.fs.Name, storetest.NewClock()
	d.config.LogPages = 40
	d.store = open(t, d.config)
	t.Cleanup(func() { _ = d.store.Close() })
	return d
}

const counters = 6

func counter(i int) store.Object {
	return store.Object{Class: abi.ClassKeyMeter, Name: fmt.Sprint("c", i)}
}

// increment adds 1 to the counter of an object. The counter is in two rows and in the key-value store, which must
// always agree.
func (d *disk) increment(i int) error {
	o := counter(i)
	d.mu.Lock()
	d.attempted[o.Name]++
	d.mu.Unlock()
	n := 0
	err := d.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
		found, err := r.Read(abi.Range{Start: "n"})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			n, _ = strconv.Atoi(string(found[0].Value))
		}
		n++
		text := []byte(strconv.Itoa(n))
		r.WriteKV("kv/"+o.Name, text)
		filler := make([]byte, 300*(n%7))
		return r.Commit([]abi.Row{{Key: "n", Value: text}, {Key: "same", Value: text}, {Key: fmt.Sprint("f/", n%9), Value: filler}}, nil, 0)
	})
	if err == nil {
		d.mu.Lock()
		d.acked[o.Name] = max(d.acked[o.Name], n)
		d.succeeded[o.Name]++
		d.mu.Unlock()
	}
	return err
}

// load increments counters in several goroutines. Each goroutine ends when stop returns true for its last error.
func (d *disk) load(seed uint64, stop func(n int, err error) bool) {
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := 1; ; n++ {
				err := d.increment(random.IntN(counters))
				if err != nil && !errors.Is(err, store.ErrUnavailable) {
					d.Errorf("not store.ErrUnavailable: %v", err)
				}
				if stop(n, err) {
					return
				}
			}
		})
	}
	all.Wait()
}

// values reads the counters and checks that their rows and the key-value store agree.
func (d *disk) values() map[string]int {
	d.Helper()
	values := map[string]int{}
	for i := range counters {
		o := counter(i)
		err := d.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
			n, err := r.Read(abi.Range{Start: "n"})
			if err != nil || len(n) == 0 {
				return err
			}
			same, err := r.Read(abi.Range{Start: "same"})
			if err != nil || len(same) == 0 || string(same[0].Value) != string(n[0].Value) {
				d.Errorf("%v: rows %v and %v, %v", o, n, same, err)
			}
			values[o.Name], _ = strconv.Atoi(string(n[0].Value))
			return nil
		})
		if err != nil {
			d.Errorf("%v: %v", o, err)
		}
		kv, _, err := d.store.Read(context.Background(), "kv/"+o.Name)
		if err != nil || string(kv) != strconv.Itoa(values[o.Name]) && values[o.Name] > 0 {
			d.Errorf("%v: %d, but the key-value store has %q, %v", o, values[o.Name], kv, err)
		}
	}
	return values
}

// lost counts acknowledged increments that the store does not have.
func (d *disk) lost() (lost int) {
	d.Helper()
	for name, n := range d.values() {
		if n > d.attempted[name] {
			d.Errorf("%s: %d, but only %d were attempted", name, n, d.attempted[name])
		}
		lost += max(0, d.acked[name]-n)
	}
	for name, n := range d.acked {
		if n > 0 && d.values()[name] == 0 {
			lost += n
		}
	}
	return lost
}

// restart cuts the power and opens the database again.
func (d *disk) restart() {
	d.Helper()
	old := d.store
	d.fs.Restart()
	_ = old.Close()
	d.store = open(d.T, d.config)
	if err := d.store.CheckIntegrity(context.Background()); err != nil {
		d.Errorf("after a loss of power: %v", err)
	}
}

// TestPowerLoss cuts the power at many points. With full durability, nothing acknowledged is lost, and the database
// is intact. With process durability, something must be lost. Otherwise, the test could not detect a loss.
func TestPowerLoss(t *testing.T) {
	lost := map[sqlite.Durability]int{}
	for _, durability := range []sqlite.Durability{sqlite.Full, sqlite.Process} {
		for seed := range uint64(30) {
			d := newDisk(t, seed, sqlite.Config{Durability: durability})
			for round := range uint64(2) { // the power may be cut again during the recovery from the first cut
				d.fs.CutAfter(1 + rand.New(rand.NewPCG(seed, round)).IntN(1500))
				d.load(seed+round<<32, func(_ int, err error) bool { return err != nil && d.fs.IsOff() })
				d.restart()
				lost[durability] += d.lost()
				d.acked = d.values()
			}
			_ = d.store.Close()
		}
	}
	t.Logf("lost %v", lost)
	if lost[sqlite.Full] != 0 || lost[sqlite.Process] == 0 {
		t.Errorf("lost %v", lost)
	}
}

// recovered waits until commits succeed again, without opening the store.
func (d *disk) recovered() {
	d.Helper()
	for end := time.Now().Add(giveUp); ; time.Sleep(10 * time.Millisecond) {
		err := d.increment(0)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			d.Fatalf("no recovery: %v", err)
		}
	}
	if err := d.store.Check(context.Background()); err != nil {
		d.Error(err)
	}
	if err := d.store.CheckIntegrity(context.Background()); err != nil {
		d.Error(err)
	}
}

// TestDiskFaults makes operations fail: first at random, then always for a while. No acknowledged change is lost, not
// even if the power fails afterwards. Failed commands change nothing, and the store recovers without being reopened.
func TestDiskFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		op  faultvfs.Op
		err error
	}{
		"no space": {faultvfs.Write, faultvfs.ErrNoSpace}, "read-only": {faultvfs.Write, faultvfs.ErrReadOnly},
		"write error": {faultvfs.Write, faultvfs.ErrIO}, "sync error": {faultvfs.Sync, faultvfs.ErrIO},
		"sync without space": {faultvfs.Sync, faultvfs.ErrNoSpace}, "read error": {faultvfs.Read, faultvfs.ErrIO},
	} {
		for _, durability := range []sqlite.Durability{sqlite.Full, sqlite.Process} {
			t.Run(name+", "+string(durability), func(t *testing.T) {
				for seed := range uint64(4) {
					d := newDisk(t, seed, sqlite.Config{Durability: durability})
					d.faults(seed, fault.op, fault.err)
				}
			})
		}
	}
}

// faults runs commands while operations of one kind fail.
func (d *disk) faults(seed uint64, op faultvfs.Op, err error) {
	random := rand.New(rand.NewPCG(seed, 7))
	d.load(seed, func(n int, err error) bool { return n > 20 || err != nil })
	failing := func(odds int) faultvfs.Fault {
		return func(o faultvfs.Op, _ string) error {
			if o == op && random.IntN(odds) == 0 {
				return err
			}
			return nil
		}
	}
	failed := false
	for _, odds := range []int{40, 1} { // sometimes, always
		d.fs.SetFault(failing(odds))
		d.load(seed, func(n int, err error) bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			failed = failed || err != nil
			return n > 60
		})
		if odds == 1 && op != faultvfs.Read && d.store.Check(context.Background()) == nil && d.config.Durability == sqlite.Full {
			d.Error("Check succeeds while the disk fails")
		}
	}
	d.fs.SetFault(nil)
	if !failed && d.config.Durability == sqlite.Full && op != faultvfs.Read {
		d.Error("no command has failed")
	}
	d.recovered()
	if lost := d.lost(); lost != 0 {
		d.Errorf("seed %d: lost %d", seed, lost)
	}
	before := d.values()
	for name, n := range d.succeeded {
		if before[name] != n {
			d.Errorf("seed %d: %s is %d after %d acknowledged increments", seed, name, before[name], n)
		}
	}
	d.restart()
	if d.config.Durability == sqlite.Full {
		after := d.values()
		for name := range before {
			if before[name] != after[name] {
				d.Errorf("seed %d: %s was %d before and is %d after a loss of power", seed, name, before[name], after[name])
			}
		}
	}
	d.fs.CutAfter(1 + random.IntN(400)) // also during a checkpoint of the changes that were made around the fault
	d.load(seed+1, func(_ int, err error) bool { return err != nil && d.fs.IsOff() })
	d.restart()
	if lost := d.lost(); lost != 0 && d.config.Durability == sqlite.Full {
		d.Errorf("seed %d: lost %d after a loss of power", seed, lost)
	}
	_ = d.store.Close()
}

// TestTwoLostSyncs lets two syncs of the write-ahead log fail, with several good ones in between. The second failure
// can happen during the recovery from the first. In that case, the frames that the recovery writes are lost, but
// readers see them. Later changes must not rely on them. In a variant, the process ends after the failures, and the
// next process finds the content that the kernel shows.
func TestTwoLostSyncs(t *testing.T) {
	for between := range 8 {
		for _, again := range []bool{false, true} {
			d := newDisk(t, uint64(between), sqlite.Config{})
			syncs := 0
			d.fs.SetFault(func(op faultvfs.Op, file string) error {
				if op != faultvfs.Sync || file != sqlite.DatabaseFile+"-wal" {
					return nil
				}
				if syncs++; syncs == 1 || syncs == 2+between {
					return faultvfs.ErrIO
				}
				return nil
			})
			for n := 0; syncs < 2+between && n < 100; n++ {
				_ = d.increment(0)
			}
			d.fs.SetFault(nil)
			if again {
				_ = d.store.Close()
				d.store = open(t, d.config)
			}
			d.recovered()
			d.restart()
			if lost := d.lost(); lost != 0 {
				t.Errorf("%d good syncs in between, process ends: %v: lost %d", between, again, lost)
			}
			_ = d.store.Close()
		}
	}
}

// TestEvictedPages lets a sync of the log fail. When the next process makes one of its operations, the kernel drops
// the log from memory. SQLite may then have read changes that no later reader sees. The log had started over before,
// so the disk has older frames in the place of the lost ones.
func TestEvictedPages(t *testing.T) {
	log := sqlite.DatabaseFile + "-wal"
	for at := 1; at <= 40; at++ {
		d := newDisk(t, uint64(at), sqlite.Config{})
		for checkpointed, n := d.checkpointed(), 0; n < 200 && !checkpointed.Load(); n++ {
			_ = d.increment(n % counters)
			time.Sleep(time.Millisecond) // time for a checkpoint that reaches the log's end
		}
		_ = d.increment(0) // starts the log over
		d.fs.SetFault(func(op faultvfs.Op, file string) error {
			if op == faultvfs.Sync && file == log {
				return faultvfs.ErrIO
			}
			return nil
		})
		_ = d.increment(1)
		_ = d.store.Close()
		operations := 0
		d.fs.SetFault(func(_ faultvfs.Op, file string) error {
			if file == log {
				if operations++; operations == at {
					d.fs.EvictLocked(log)
				}
			}
			return nil
		})
		d.reopen()
		d.recovered()
		d.restart()
		if lost := d.lost(); lost != 0 {
			t.Errorf("evicted at operation %d: lost %d", at, lost)
		}
		_ = d.store.Close()
	}
}

// reopen opens the store. The first attempt may find that the log has lost changes.
func (d *disk) reopen() {
	d.Helper()
	opened, err := sqlite.Open(context.Background(), d.config)
	if err != nil {
		opened = open(d.T, d.config)
	}
	d.store = opened
}

// checkpointed becomes true when a checkpoint syncs the database.
func (d *disk) checkpointed() *atomic.Bool {
	done := new(atomic.Bool)
	d.fs.SetFault(func(op faultvfs.Op, file string) error {
		if op == faultvfs.Sync && file == sqlite.DatabaseFile {
			done.Store(true)
		}
		return nil
	})
	return done
}

// TestLostSync lets one sync of the write-ahead log fail before a checkpoint and cuts the power at every point after
// it. The kernel has dropped pages but shows them as written. If the checkpoint relied on the next sync, the database
// would have only half of its changes.
func TestLostSync(t *testing.T) {
	for cut := 1; cut < 240; cut += 3 {
		d := newDisk(t, uint64(cut), sqlite.Config{Durability: sqlite.Process})
		failed := false
		d.fs.SetFault(func(op faultvfs.Op, file string) error {
			if op == faultvfs.Sync && file == sqlite.DatabaseFile+"-wal" && !failed {
				failed = true
				d.fs.CutAfterLocked(cut)
				return faultvfs.ErrIO
			}
			return nil
		})
		d.load(uint64(cut), func(_ int, err error) bool { return err != nil && d.fs.IsOff() })
		d.restart()
		d.values()
		_ = d.store.Close()
	}
}
