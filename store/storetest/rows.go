package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// rows checks ranges, replacement and deletion.
func rows(f *fixture) {
	o := meter("a")
	f.run(o, func(r store.Rows, now uint64) error {
		if now != f.clock.Now() {
			f.Errorf("now %d", now)
		}
		found, err := r.Read(everything)
		if len(found) != 0 || err != nil || r.Alarm() != 0 {
			f.Errorf("new object: %v, %v, alarm %d", found, err, r.Alarm())
		}
		return r.Commit(puts("b", "2", "B", "3", "a/b", "4", "a", "5", "~", "", "c", "1"), nil, 0)
	})
	f.expect(o, everything, "B", "3", "a", "5", "a/b", "4", "b", "2", "c", "1", "~", "")
	f.expect(o, abi.Range{Start: "a", End: "b", Limit: 9}, "a", "5", "a/b", "4")
	f.expect(o, abi.Range{Start: "a", End: "z", Limit: 2}, "a", "5", "a/b", "4")
	f.expect(o, abi.Range{Start: "a", End: "z", Limit: 0})
	f.expect(o, abi.Range{Start: "z", End: "a", Limit: 9})
	f.expect(o, abi.Range{Start: "b"}, "b", "2")
	f.expect(o, abi.Range{Start: "bb"})
	f.run(o, func(r store.Rows, _ uint64) error {
		return r.Commit(puts("b", "new", "d", "6"), []string{"a", "absent", "~"}, 0)
	})
	f.expect(o, everything, "B", "3", "a/b", "4", "b", "new", "c", "1", "d", "6")
	f.run(o, func(r store.Rows, _ uint64) error {
		return r.Commit(puts("a", "back"), []string{"B", "a/b", "b", "c", "d"}, 0)
	})
	f.expect(o, everything, "a", "back")
}

// isolation checks that objects do not share rows. The objects have the same name in two classes, or have similar
// names.
func isolation(f *fixture) {
	objects := []store.Object{meter("a"), {Class: abi.ClassLedger, Name: "a"}, meter("A"), meter("a "), meter("a/b"), meter(""), meter("ä'\"%_")}
	for i, o := range objects {
		f.commit(o, StartMs+uint64(i)+1, "k", fmt.Sprint(i))
	}
	for i, o := range objects {
		f.expect(o, everything, "k", fmt.Sprint(i))
		if at := f.alarm(o); at != StartMs+uint64(i)+1 {
			f.Errorf("%v: alarm %d", o, at)
		}
	}
}

// failedCommand checks that a command that returns an error changes nothing.
func failedCommand(f *fixture) {
	o := meter("a")
	f.commit(o, StartMs+500, "k", "old")
	f.write("kv", "old", 0)
	err := f.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
		r.WriteKV("kv", []byte("new"))
		if err := r.Commit(puts("k", "new", "l", "new"), []string{"k"}, StartMs+100); err != nil {
			f.Error(err)
		}
		return errCommand
	})
	if !errors.Is(err, errCommand) {
		f.Errorf("%v", err)
	}
	f.expect(o, everything, "k", "old")
	f.expectKV("kv", "old")
	if f.alarm(o) != StartMs+500 || f.next() != StartMs+500 {
		f.Errorf("alarm %d, next %d", f.alarm(o), f.next())
	}
}

// panics checks that a command's panic reaches the caller, and that the object can still be used afterwards.
func panics(f *fixture) {
	o := meter("a")
	f.commit(o, 0, "k", "old")
	func() {
		defer func() {
			if recover() == nil {
				f.Error("no panic")
			}
		}()
		_ = f.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
			_ = r.Commit(puts("k", "new"), nil, 0)
			panic("on purpose")
		})
	}()
	f.expect(o, everything, "k", "old")
	f.commit(o, 0, "k", "new")
	f.expect(o, everything, "k", "new")
}

// largeObject reads, replaces and deletes rows of an object of several megabytes.
func largeObject(f *fixture) {
	o, filler := meter("large"), strings.Repeat("x", 10_000)
	var want []string
	for batch := range 5 {
		var rows []string
		for i := range 60 {
			rows = append(rows, fmt.Sprintf("r/%04d", batch*60+i), filler)
		}
		f.commit(o, 0, rows...)
		want = append(want, rows...)
	}
	f.expect(o, everything, want...)
	f.run(o, func(r store.Rows, _ uint64) error {
		return r.Commit(puts("r/0001", "one", "r/0001a", "between", "s", "last"), []string{"r/0000", "r/0299"}, StartMs+7)
	})
	f.expect(o, abi.Range{Start: "r/", End: "r/0003", Limit: 9}, "r/0001", "one", "r/0001a", "between", "r/0002", filler)
	f.expect(o, abi.Range{Start: "r/0298", End: "t", Limit: 9}, "r/0298", filler, "s", "last")
	f.expect(o, abi.Range{Start: "r/0000"})
	f.expect(o, abi.Range{Start: "r/", End: "s", Limit: 2}, "r/0001", "one", "r/0001a", "between")
	if at := f.alarm(o); at != StartMs+7 {
		f.Errorf("alarm %d", at)
	}
}

// sizeLimits checks that a command that is too large fails and that others succeed.
func sizeLimits(f *fixture) {
	half := make([]byte, store.MaxRowBytes-10)
	tooMany := make([]abi.Row, 0, 5)
	for i := range 5 {
		tooMany = append(tooMany, abi.Row{Key: fmt.Sprint(i), Value: half})
	}
	failed := make(chan error)
	for name, rows := range map[string][]abi.Row{"row": {{Key: "k", Value: make([]byte, store.MaxRowBytes+1)}}, "total": tooMany} {
		go func() {
			failed <- f.store.Run(context.Background(), meter(name), func(r store.Rows, _ uint64) error {
				r.WriteKV("kv", []byte("x"))
				return r.Commit(rows, nil, StartMs+1)
			})
		}()
		f.commit(meter("small"+name), 0, "k", "v")
		if err := <-failed; !errors.Is(err, store.ErrTooLarge) {
			f.Errorf("%s: %v", name, err)
		}
		f.expect(meter(name), everything)
		f.expect(meter("small"+name), everything, "k", "v")
	}
	f.expectKV("kv", "")
	if f.next() != 0 {
		f.Errorf("alarm %d", f.next())
	}
	f.commit(meter("largest"), 0, "k", string(make([]byte, store.MaxRowBytes)))
	f.expect(meter("largest"), everything, "k", string(make([]byte, store.MaxRowBytes)))
}

// canceled checks that a command does not run if its caller has canceled the context.
func canceled(f *fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := f.store.Run(ctx, meter("a"), func(r store.Rows, _ uint64) error { return r.Commit(puts("k", "v"), nil, 0) })
	if err == nil {
		f.Error("no error")
	}
	f.expect(meter("a"), everything)
}

// checkAndClose checks that a closed store refuses commands.
func checkAndClose(f *fixture) {
	ctx := context.Background()
	if err := f.store.Check(ctx); err != nil {
		f.Error(err)
	}
	f.commit(meter("a"), 0, "k", "v")
	if err := f.store.Close(); err != nil {
		f.Error(err)
	}
	ran := false
	err := f.store.Run(ctx, meter("a"), func(r store.Rows, _ uint64) error { ran = true; return r.Commit(puts("k", "v"), nil, 0) })
	if !errors.Is(err, store.ErrUnavailable) || ran {
		f.Errorf("Run: %v, ran: %v", err, ran)
	}
	if err := f.store.Write(ctx, "k", []byte("v"), 0); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("Write: %v", err)
	}
	if err := f.store.Check(ctx); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("Check: %v", err)
	}
}
