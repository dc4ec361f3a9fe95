package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

const workers = 8

func atOnce(work func(worker int)) {
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() { work(worker) })
	}
	all.Wait()
}

// increment adds 1 to the number in a row and returns the old number. Inside the command, it calls read with the old
// number.
func increment(r store.Rows, key string) (old int, err error) {
	found, err := r.Read(abi.Range{Start: key})
	if err != nil {
		return 0, err
	}
	if len(found) > 0 {
		if old, err = strconv.Atoi(string(found[0].Value)); err != nil {
			return 0, err
		}
	}
	return old, r.Commit(puts(key, strconv.Itoa(old+1)), nil, 0)
}

// oneObject checks that commands on one object run one at a time, no matter how many goroutines there are.
func oneObject(f *fixture) {
	const each = 25
	var inside atomic.Int32
	var mu sync.Mutex
	seen := map[int]bool{}
	atOnce(func(int) {
		for range each {
			err := f.store.Run(context.Background(), meter("a"), func(r store.Rows, _ uint64) error {
				if inside.Add(1) != 1 {
					f.Error("two commands at the same time")
				}
				defer inside.Add(-1)
				old, err := increment(r, "n")
				mu.Lock()
				seen[old] = true
				mu.Unlock()
				return err
			})
			if err != nil {
				f.Error(err)
			}
		}
	})
	f.expect(meter("a"), everything, "n", strconv.Itoa(workers*each))
	if len(seen) != workers*each {
		f.Errorf("%d different numbers", len(seen))
	}
}

// manyObjects checks concurrent commands on several objects, with alarms and the key-value store.
func manyObjects(f *fixture) {
	const each = 40
	atOnce(func(worker int) {
		for i := range each {
			o := meter(fmt.Sprint("m", i%5))
			err := f.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
				r.WriteKV("own/"+o.Name, []byte(fmt.Sprint(worker)))
				_, err := increment(r, fmt.Sprint("w", worker))
				return err
			})
			if err != nil {
				f.Error(err)
			}
			key := fmt.Sprint("kv/", worker, "/", i)
			f.write(key, key, uint64(i%2)*3600)
			f.expectKV(key, key)
		}
	})
	for i := range 5 {
		var want []string
		for worker := range workers {
			want = append(want, fmt.Sprint("w", worker), fmt.Sprint(each/5))
		}
		f.expect(meter(fmt.Sprint("m", i)), everything, want...)
		if _, ok := f.value(fmt.Sprint("own/m", i)); !ok {
			f.Errorf("no value of m%d", i)
		}
	}
}

// readersWait checks what a read-only command reads while other commands change the object. It must see the changes
// of every command that succeeded before the read started. It must not see changes of a command that has not started.
func readersWait(f *fixture) {
	var started, succeeded atomic.Int64
	atOnce(func(worker int) {
		for range 25 {
			if worker%2 == 0 {
				started.Add(1)
				f.run(meter("a"), func(r store.Rows, _ uint64) error { _, err := increment(r, "n"); return err })
				succeeded.Add(1)
				continue
			}
			least := succeeded.Load()
			read := 0
			f.run(meter("a"), func(r store.Rows, _ uint64) error {
				found, err := r.Read(abi.Range{Start: "n"})
				if len(found) > 0 {
					read, _ = strconv.Atoi(string(found[0].Value))
				}
				return err
			})
			if int64(read) < least || int64(read) > started.Load() {
				f.Errorf("read %d, at least %d had succeeded, %d had started", read, least, started.Load())
			}
		}
	})
}
