package postgres_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
)

// together runs commands in order while another command holds their object, and returns their errors. The number of
// commits is that of all commands but the one that holds the object.
func together(t *testing.T, s *postgres.Store, o store.Object, contexts []context.Context, commands ...store.Command) (errs []error, commits uint64) {
	t.Helper()
	inside, leave := make(chan bool), make(chan bool)
	entered := sync.OnceFunc(func() { close(inside) }) // the server ends a transaction that waits for long, and it is repeated
	first := make(chan error, 1)
	go func() {
		first <- s.Run(t.Context(), o, func(store.Rows, uint64) error { entered(); <-leave; return nil })
	}()
	<-inside
	ended := make([]chan error, len(commands))
	for i, command := range commands {
		ended[i] = make(chan error, 1)
		ctx := t.Context()
		if i < len(contexts) && contexts[i] != nil {
			ctx = contexts[i]
		}
		go func() { ended[i] <- s.Run(ctx, o, command) }()
		until(t, func() bool { return s.Queued(o) == i+1 })
	}
	before := commitsOf(t, s)
	for _, ctx := range contexts {
		if ctx, ok := ctx.(*leaver); ok {
			ctx.leave()
			until(t, func() bool { return s.Queued(o) == len(commands)-1 })
		}
	}
	close(leave)
	if err := <-first; err != nil {
		t.Error(err)
	}
	for i := range ended {
		errs = append(errs, <-ended[i])
	}
	return errs, commitsOf(t, s) - before - 1
}

func commitsOf(t *testing.T, s *postgres.Store) (n uint64) {
	for _, count := range s.Measure(t.Context()).Commits.Counts {
		n += count
	}
	return n
}

// leaver is a context that ends while its command waits.
type leaver struct {
	context.Context
	leave context.CancelFunc
}

func leaves(t *testing.T) *leaver {
	ctx, cancel := context.WithCancel(t.Context())
	return &leaver{ctx, cancel}
}

// TestTogether: commands that wait for the same object share a transaction. Each sees the changes of those before it. One
// that fails changes nothing, and one whose context has ended does not run, even if it would be the first.
func TestTogether(t *testing.T) {
	url := database(t)
	run(t, open(t, postgres.Config{URL: url}), object, put("n", "1"))
	for _, known := range []bool{false, true} { // whether the replica has the object's rows in memory
		s := open(t, postgres.Config{URL: url})
		run(t, s, object, put("n", "1"))
		if !known {
			s = open(t, postgres.Config{URL: url})
		}
		own := errors.New("own error")
		var seen []abi.Row
		ran := false
		commands := []store.Command{
			func(store.Rows, uint64) error { ran = true; return nil },
			increment("n"),
			func(rows store.Rows, now uint64) error { _ = put("n", "99")(rows, now); return own },
			increment("n"),
			func(rows store.Rows, _ uint64) (err error) {
				if seen, err = rows.Read(abi.Range{Start: "a", End: "z", Limit: 10}); err != nil {
					return err
				}
				return rows.Commit([]abi.Row{{Key: "b", Value: []byte("1")}}, []string{"n"}, 70)
			},
			func(rows store.Rows, _ uint64) error {
				if read(rows, "n") != "" || read(rows, "b") != "1" || rows.Alarm() != 70 {
					t.Errorf("known %t: n is %q, b is %q, the alarm is at %d", known, read(rows, "n"), read(rows, "b"), rows.Alarm())
				}
				rows.WriteKV("kv", []byte("first"))
				return rows.Commit([]abi.Row{{Key: "n", Value: []byte("7")}}, []string{"b"}, 90)
			},
			func(rows store.Rows, _ uint64) error {
				rows.WriteKV("kv", []byte("second"))
				return rows.Commit([]abi.Row{{Key: "m", Value: []byte(read(rows, "n"))}}, nil, 0)
			},
		}
		errs, commits := together(t, s, object, []context.Context{leaves(t)}, commands...)
		for i, err := range errs {
			if want := map[int]error{0: store.ErrOverloaded, 2: own}[i]; !errors.Is(err, want) {
				t.Errorf("known %t: command %d got %v, want %v", known, i, err, want)
			}
		}
		if ran || commits != 1 {
			t.Errorf("known %t: the withdrawn command ran: %t; %d commits", known, ran, commits)
		}
		if len(seen) != 1 || string(seen[0].Value) != "3" {
			t.Errorf("known %t: a range contains %v", known, seen)
		}
		fresh := open(t, postgres.Config{URL: url})
		for key, want := range map[string]string{"n": "7", "m": "7", "b": ""} {
			if a, b := look(t, s, object, key), look(t, fresh, object, key); a != want || b != want {
				t.Errorf("known %t: %s is %q here and %q elsewhere, want %q", known, key, a, b, want)
			}
		}
		if value, _, err := fresh.Read(t.Context(), "kv"); string(value) != "second" || err != nil {
			t.Errorf("known %t: %q, %v", known, value, err)
		}
		if _, alarm, err := fresh.NextAlarm(t.Context()); alarm != 70 || err != nil {
			t.Errorf("known %t: the alarm is at %d, %v", known, alarm, err)
		}
		run(t, s, object, func(rows store.Rows, _ uint64) error { return rows.Commit(nil, []string{"m"}, 0) })
	}
}

// TestTogetherInTurns: a transaction has at most 64 commands, and stops before it writes too much. The others follow in
// order.
func TestTogetherInTurns(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t)})
	list := func(n int) store.Command {
		return func(rows store.Rows, _ uint64) error {
			return rows.Commit([]abi.Row{{Key: "list", Value: []byte(read(rows, "list") + " " + strconv.Itoa(n))}}, nil, 0)
		}
	}
	var commands []store.Command
	want := ""
	for i := range 150 {
		commands, want = append(commands, list(i)), want+" "+strconv.Itoa(i)
	}
	errs, commits := together(t, s, object, nil, commands...)
	if err := errors.Join(errs...); err != nil || commits != 3 {
		t.Errorf("%d commits, %v", commits, err)
	}
	if got := look(t, s, object, "list"); got != want {
		t.Errorf("the order is %s", got)
	}
	large := func(key string) store.Command {
		return func(rows store.Rows, _ uint64) error {
			return rows.Commit([]abi.Row{{Key: key, Value: make([]byte, store.MaxRowBytes)}}, nil, 0)
		}
	}
	errs, commits = together(t, s, object, nil, large("a"), large("b"), large("c"), large("d"), large("e"), large("f"))
	if err := errors.Join(errs...); err != nil || commits != 2 {
		t.Errorf("%d commits, %v", commits, err)
	}
}

// TestAllFail: commands that all fail need no commit.
func TestAllFail(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t)})
	own := errors.New("own error")
	fails := func(rows store.Rows, now uint64) error { return errors.Join(put("n", "1")(rows, now), own) }
	errs, commits := together(t, s, object, nil, fails, fails)
	if !errors.Is(errs[0], own) || !errors.Is(errs[1], own) || commits != 0 {
		t.Errorf("%v, %d commits", errs, commits)
	}
	if look(t, s, object, "n") != "" {
		t.Error("a failed command has changed a row")
	}
}

// TestPanic: if a command panics, the others of its transaction fail, and the next one runs.
func TestPanic(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t)})
	inside, leave := make(chan bool), make(chan bool)
	entered := sync.OnceFunc(func() { close(inside) })
	ended := make(chan any, 3)
	run := func(waiting int, command store.Command) {
		go func() {
			defer func() {
				if reason := recover(); reason != nil {
					ended <- reason
				}
			}()
			ended <- s.Run(t.Context(), object, command)
		}()
		until(t, func() bool { return s.Queued(object) == waiting })
	}
	run(0, func(store.Rows, uint64) error { entered(); <-leave; return nil })
	<-inside
	run(1, func(store.Rows, uint64) error { panic("the command's") })
	run(2, put("n", "1"))
	close(leave)
	counts := map[string]int{}
	for range 3 {
		result := <-ended
		err, _ := result.(error)
		switch {
		case result == nil:
			counts["done"]++
		case result == "the command's":
			counts["panicked"]++
		case errors.Is(err, store.ErrUnavailable):
			counts["failed"]++
		}
	}
	if counts["done"] != 1 || counts["panicked"] != 1 || counts["failed"] != 1 {
		t.Errorf("%v", counts)
	}
	if look(t, s, object, "n") != "" {
		t.Error("the transaction that panicked has changed a row")
	}
}
