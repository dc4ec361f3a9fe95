package postgres_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

// wire is a proxy in front of the server that counts round trips and can lose the data in one direction.
type wire struct {
	net.Listener
	loseRequests, loseResponses atomic.Bool
	delay                       atomic.Int64 // nanoseconds, in each direction
	trips                       atomic.Int64 // how often a request followed a response
	mu                          sync.Mutex
	conns                       []net.Conn
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: listener}
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				return
			}
			w.pass(client, server)
		}
	}()
	return w
}

func (w *wire) pass(client, server net.Conn) {
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	w.mu.Unlock()
	var answered atomic.Bool
	answered.Store(true)
	go copyUnless(client, server, &w.loseRequests, func() {
		time.Sleep(time.Duration(w.delay.Load()))
		if answered.Swap(false) {
			w.trips.Add(1)
		}
	})
	go copyUnless(server, client, &w.loseResponses, func() {
		time.Sleep(time.Duration(w.delay.Load()))
		answered.Store(true)
	})
}

func copyUnless(from, to net.Conn, lose *atomic.Bool, passed func()) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !lose.Load() {
			passed()
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			if !errors.Is(err, io.EOF) || !lose.Load() {
				_ = to.Close()
			}
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// behindWire opens one store behind a wire and another one directly.
func behindWire(t *testing.T, c postgres.Config) (w *wire, through, direct *postgres.Store) {
	t.Helper()
	server := pgtest.Shared(t)
	name := server.Database(t)
	w = newWire(t, server.Address())
	c.URL = pgtest.URLAt(w.Addr().String(), name)
	return w, open(t, c), open(t, postgres.Config{URL: server.URL(name)})
}

// TestRoundTrips: a command on a hot object costs two round trips, even if another replica has changed the object. A
// command on an unknown object also costs two.
func TestRoundTrips(t *testing.T) {
	w, s, other := behindWire(t, postgres.Config{MaxConns: 1})
	hot := store.Object{Class: abi.ClassKeyMeter, Name: "hot"}
	for range 10 { // the store learns which rows commands of this class read
		run(t, s, hot, increment("h"))
	}
	count := func(command store.Command, o store.Object) int64 {
		before := w.trips.Load()
		run(t, s, o, command)
		return w.trips.Load() - before
	}
	if n := count(increment("h"), hot); n != 2 {
		t.Errorf("%d round trips for a hot object, want 2", n)
	}
	run(t, other, hot, increment("h"))
	count(increment("h"), hot) // the store notices that the object is shared
	run(t, other, hot, increment("h"))
	if n := count(increment("h"), hot); n != 2 {
		t.Errorf("%d round trips for an object that two replicas use, want 2", n)
	}
	if n := look(t, s, hot, "h"); n != "15" {
		t.Errorf("%s increments", n)
	}
	unknown := store.Object{Class: abi.ClassKeyMeter, Name: "unknown"}
	if n := count(func(rows store.Rows, _ uint64) error { read(rows, "h"); return nil }, unknown); n != 2 {
		t.Errorf("%d round trips for an unknown object, want 2", n)
	}
}

// TestUnknownCommit: if the connection breaks during COMMIT, the command fails and is not repeated. Its changes have
// been made once, or not at all.
func TestUnknownCommit(t *testing.T) {
	for _, row := range []struct {
		name string
		lose func(*wire) *atomic.Bool
		want string
	}{
		{"before the server has it", func(w *wire) *atomic.Bool { return &w.loseRequests }, "1"},
		{"after the server has it", func(w *wire) *atomic.Bool { return &w.loseResponses }, "2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, s, direct := behindWire(t, postgres.Config{Timeout: 3 * time.Second})
			run(t, s, object, increment("n"))
			calls := 0
			err := s.Run(t.Context(), object, func(rows store.Rows, now uint64) error {
				calls++
				row.lose(w).Store(true)
				time.AfterFunc(300*time.Millisecond, w.cut)
				return increment("n")(rows, now)
			})
			if !errors.Is(err, store.ErrUnavailable) || calls != 1 || s.Stats().UnknownCommits != 1 {
				t.Errorf("%v, %d calls, %d unknown commits", err, calls, s.Stats().UnknownCommits)
			}
			row.lose(w).Store(false)
			if n := look(t, direct, object, "n"); n != row.want {
				t.Errorf("%s increments, want %s", n, row.want)
			}
			run(t, s, object, increment("n"))
			if n, m := look(t, s, object, "n"), look(t, direct, object, "n"); n != m {
				t.Errorf("this replica reads %s, another one %s", n, m)
			}
		})
	}
}

// TestBrokenBeforeCommit: if the connection breaks before COMMIT is sent, the command is repeated on another
// connection.
func TestBrokenBeforeCommit(t *testing.T) {
	w, s, direct := behindWire(t, postgres.Config{})
	run(t, direct, object, increment("n"))
	calls := 0
	err := s.Run(t.Context(), object, func(rows store.Rows, now uint64) error {
		if calls++; calls == 1 {
			w.cut()
		}
		return increment("n")(rows, now)
	})
	if err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if n := look(t, direct, object, "n"); n != "2" {
		t.Errorf("%s increments", n)
	}
}

// TestDeadReplicationIsNoSuccess: if somebody cancels a commit's wait for the synchronous standby, the commit does
// not count as successful.
func TestDeadReplicationIsNoSuccess(t *testing.T) {
	server := pgtest.Start(t)
	name := server.Database(t)
	s := open(t, postgres.Config{URL: server.URL(name), Timeout: time.Minute})
	run(t, s, object, put("a", "1"))
	do := func(sql ...string) {
		t.Helper()
		if err := server.Exec(t.Context(), "postgres", sql...); err != nil {
			t.Fatal(err)
		}
	}
	do("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	until(t, func() bool {
		shown, err := server.Query(t.Context(), "postgres", "SHOW synchronous_standby_names")
		return err == nil && shown == "nobody"
	})
	for _, command := range []store.Command{put("a", "2"), func(rows store.Rows, _ uint64) error { read(rows, "a"); return nil }} {
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context(), object, command) }()
		// The store's background work may wait as well, so the test cancels every wait until the command has ended.
		var err error
		until(t, func() bool {
			do("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			select {
			case err = <-ended:
				return true
			default:
				return false
			}
		})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
	do("ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
	run(t, s, object, put("a", "3"))
}
