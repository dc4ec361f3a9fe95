package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

// blackHole makes the wire lose all data, or makes it forward data again.
func (w *wire) blackHole(lose bool) {
	w.loseRequests.Store(lose)
	w.loseResponses.Store(lose)
}

// restore ends a black hole. Connections that were in it are lost.
func (w *wire) restore() {
	w.blackHole(false)
	w.cut()
}

func ledger(i int) store.Object {
	return store.Object{Class: abi.ClassLedger, Name: fmt.Sprint("prj_", i)}
}

// within fails the test if f takes longer than it should.
func within(t *testing.T, what string, promised time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > promised {
		t.Errorf("%s took %v, more than %v", what, took, promised)
	}
}

// TestCutOffHolder cuts a replica off while it holds an object. Another replica has many commands for this object.
// Each of them waits for less than a second, and none fails. The replica that is cut off gives up soon.
func TestCutOffHolder(t *testing.T) {
	w, lost, other := behindWire(t, postgres.Config{})
	run(t, other, object, put("n", "0"))
	holding, ended := make(chan bool), make(chan error, 1)
	go func() {
		ended <- lost.Run(t.Context(), object, func(rows store.Rows, now uint64) error {
			w.blackHole(true)
			close(holding)
			return increment("n")(rows, now)
		})
	}()
	<-holding
	within(t, "waiting for the object", 1500*time.Millisecond, func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := other.Run(t.Context(), object, increment("n")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
	within(t, "giving up", 3*time.Second, func() {
		if err := <-ended; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the replica that was cut off got %v", err)
		}
	})
	if n := look(t, other, object, "n"); n != "20" {
		t.Errorf("%s increments", n)
	}
	w.restore()
}

// TestKnownDown: after a server has become silent, the first calls fail soon, and later calls fail at once. As soon
// as the server responds again, commands succeed. None of them has to fail first.
func TestKnownDown(t *testing.T) {
	w, s, _ := behindWire(t, postgres.Config{})
	run(t, s, object, put("a", "1"))
	for range 2 {
		w.blackHole(true)
		within(t, "noticing the outage", 3*time.Second, func() {
			var all sync.WaitGroup
			for i := range 50 { // more calls than there are connections
				all.Go(func() {
					if err := s.Run(t.Context(), ledger(i%20), put("a", "1")); !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("got %v", err)
					}
				})
			}
			all.Wait()
		})
		within(t, "300 calls", time.Second, func() {
			for range 100 {
				err := s.Run(t.Context(), object, put("a", "1"))
				_, _, read := s.Read(t.Context(), "k")
				if check := s.Check(t.Context()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(read, store.ErrUnavailable) || !errors.Is(check, store.ErrUnavailable) {
					t.Errorf("got %v, %v, %v", err, read, check)
				}
			}
		})
		w.restore()
		until(t, func() bool { return !s.Stats().Down })
		run(t, s, object, put("a", "2"))
	}
}

// TestRefusingIsDown: a server that refuses connections counts as down, too.
func TestRefusingIsDown(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, postgres.Config{URL: server.URL(server.Database(t))})
	run(t, s, object, put("a", "1"))
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		if err := s.Run(t.Context(), object, put("a", "2")); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		return s.Stats().Down
	})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return !s.Stats().Down })
	run(t, s, object, put("a", "2"))
}

// TestSlowIsNotDown: three things do not count as an outage: round trips of 200 ms, objects that others hold, and
// commits that take seconds.
func TestSlowIsNotDown(t *testing.T) {
	w, s, direct := behindWire(t, postgres.Config{MaxConns: 8})
	url := database(t)
	held := open(t, postgres.Config{URL: url})
	run(t, held, object, put("a", "1"))
	holder := connect(t, url)
	exec(t, holder, "BEGIN")
	exec(t, holder, lockSQL, object.Class, object.Name)
	var all sync.WaitGroup
	spread := func() {
		for i := range 16 {
			all.Go(func() {
				for range 2 {
					if err := s.Run(t.Context(), ledger(i%8), increment("n")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for s.Stats().Conns < 8 { // opening a connection takes many round trips
		spread()
		all.Wait()
	}
	w.delay.Store(int64(100 * time.Millisecond))
	spread()
	all.Go(func() {
		if err := held.Run(t.Context(), object, put("a", "2")); !errors.Is(err, store.ErrOverloaded) {
			t.Errorf("the command on an object that is held got %v", err)
		}
	})
	all.Go(func() {
		slow := 700 * time.Millisecond // the server ends the transaction, and the command is repeated
		err := direct.Run(t.Context(), ledger(100), func(rows store.Rows, now uint64) error {
			time.Sleep(slow)
			slow = 0
			return increment("n")(rows, now)
		})
		if n := look(t, direct, ledger(100), "n"); err != nil || n != "1" {
			t.Errorf("a command that was slow once got %v, and has %s increments", err, n)
		}
	})
	all.Wait()
	for _, one := range []*postgres.Store{s, held, direct} {
		if one.Stats().Outages > 0 {
			t.Error("a slow server counts as down")
		}
	}
}
