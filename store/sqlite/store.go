package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/store"
)

// Store implements store.Store. Objects, the open group and alarms are in memory. group.go describes how changes get
// to the disk.
type Store struct {
	config Config
	lock   *os.File // lock of the directory; nil with a custom VFS
	db     database
	wake   chan struct{} // signals that a group has its first command
	ended  chan struct{} // the committer has ended

	waiting atomic.Int64 // commands in progress
	figures figures
	stats   counters

	mu       sync.Mutex // guards the fields below; never held during I/O
	closed   bool
	open     *group // collects commands
	flushing *group // is being written, or nil
	objects  objects
	alarms   alarms
	nextID   int64 // the last ID given to an object
}

// Open opens or creates the database in a directory. It fails if another process uses the directory, or if a newer version
// has written the database.
func Open(ctx context.Context, config Config) (*Store, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{config: config, wake: make(chan struct{}, 1), ended: make(chan struct{}), open: newGroup()}
	s.objects.init(config.CacheBytes)
	if config.VFS == "" {
		if s.lock, err = lockDir(config.Dir); err != nil {
			return nil, config.explain(err)
		}
	}
	if err := s.start(ctx); err != nil {
		s.db.close()
		unlock(s.lock)
		return nil, config.explain(fmt.Errorf("store: cannot open %s: %w", config.path(), err))
	}
	go s.commitGroups()
	return s, nil
}

// start opens the database and loads the alarms.
func (s *Store) start(ctx context.Context) error {
	if err := s.db.open(&s.config, &s.stats); err != nil {
		return err
	}
	return s.db.read(ctx, func(r *reader) (err error) {
		s.nextID, err = r.loadAlarms(s.alarms.set)
		return err
	})
}

// Run implements store.Store.
func (s *Store) Run(ctx context.Context, o store.Object, command store.Command) (err error) {
	defer func() { s.figures.ended(err) }()
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.waiting.Add(-1)
	e := s.use(o)
	defer s.release(e)
	t, err := s.execute(ctx, e, false, command)
	if err != nil {
		return err
	}
	return t.wait(ctx)
}

func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.waiting.Add(1) > int64(s.config.MaxWaiting) || s.stats.pendingBytes.Load() > maxPendingBytes {
		s.waiting.Add(-1)
		s.stats.overloaded.Add(1)
		return store.ErrOverloaded
	}
	return nil
}

// maxPendingBytes limits the changes in memory that are not durable yet.
const maxPendingBytes = 64 << 20

// execute runs a command and adds its changes to the open group. While the command of a ringing alarm runs, that
// alarm is not set.
func (s *Store) execute(ctx context.Context, e *entry, ringing bool, command store.Command) (ticket, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := rows{ctx: ctx, store: s, entry: e, ringing: ringing}
	if err := s.begin(&r); err != nil {
		return ticket{}, err
	}
	if err := command(&r, s.config.Clock.Now()); err != nil {
		return ticket{}, err
	}
	if r.err != nil {
		return ticket{}, r.err
	}
	return s.join(&r)
}

// Check implements store.Store. It commits a change of its own.
func (s *Store) Check(ctx context.Context) error {
	return s.add(ctx, 0, func(g *group) { g.probe = true })
}

// Used reports whether the store has ever contained an object or a value. Its error is store.ErrUnavailable.
func (s *Store) Used(ctx context.Context) (used bool, err error) {
	err = s.db.read(ctx, func(r *reader) error {
		n, err := number(r.conn, "SELECT EXISTS (SELECT 1 FROM objects) OR EXISTS (SELECT 1 FROM kv)")
		used = n != 0
		return err
	})
	return used, err
}

// Close implements store.Store. It writes pending changes and moves the write-ahead log into the database.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.ended
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.notify()
	<-s.ended
	s.db.close()
	unlock(s.lock)
	return nil
}

type machineClock struct{}

func (machineClock) Now() uint64 { return uint64(time.Now().UnixMilli()) }

// unlock releases the lock of lockDir.
func unlock(lock *os.File) {
	if lock != nil {
		_ = lock.Close()
	}
}
