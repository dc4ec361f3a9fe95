package storetest

import (
	"context"
	"fmt"

	"github.com/postern-ai/postern/store"
)

// keyValue checks writing, replacing and deleting, and that values are copied.
func keyValue(f *fixture) {
	f.expectKV("k", "")
	message := []byte("one")
	if err := f.store.Write(context.Background(), "k", message, 0); err != nil {
		f.Error(err)
	}
	message[0] = 'x'
	f.write("K", "other", 0)
	f.expectKV("k", "one")
	f.write("k", "two", 60)
	f.expectKV("k", "two")
	f.write("k", "three", 0)
	f.clock.Advance(1_000_000)
	f.expectKV("k", "three")
	f.write("k", "", 0)
	f.expectKV("k", "")
	f.write("k", "", 0)
	f.write("binary", "\x00\xff\x00", 0)
	f.expectKV("binary", "\x00\xff\x00")
	f.expectKV("K", "other")
}

// expiry checks that expired values are not returned and that Expire removes them in batches of limited size.
func expiry(f *fixture) {
	const values = 1500
	for i := range values {
		f.write(fmt.Sprint("short/", i), "x", 10)
	}
	f.write("long", "x", 20)
	f.write("renewed", "x", 10)
	f.write("forever", "x", 0)
	f.clock.Advance(9_999)
	f.expectKV("short/0", "x")
	f.write("renewed", "y", 10)
	if removed, err := f.store.Expire(context.Background()); removed != 0 || err != nil {
		f.Errorf("removed %d, %v", removed, err)
	}
	f.clock.Advance(1)
	f.expectKV("short/0", "")
	f.expectKV("long", "x")
	total, calls := 0, 0
	for {
		removed, err := f.store.Expire(context.Background())
		if err != nil {
			f.Fatal(err)
		}
		if removed == 0 {
			break
		}
		total, calls = total+removed, calls+1
	}
	if total != values || calls < 2 {
		f.Errorf("removed %d values in %d calls", total, calls)
	}
	f.expectKV("renewed", "y")
	f.clock.Advance(10_000)
	f.expectKV("long", "")
	f.expectKV("renewed", "")
	f.expectKV("forever", "x")
	f.write("long", "again", 5)
	f.expectKV("long", "again")
}

// commandKV checks values that commands write. The last value wins, an empty value deletes the key, and the expiry of
// an older value no longer applies.
func commandKV(f *fixture) {
	f.write("k", "expiring", 10)
	f.run(meter("a"), func(r store.Rows, _ uint64) error {
		r.WriteKV("k", []byte("first"))
		r.WriteKV("k", []byte("second"))
		r.WriteKV("deleted", []byte("x"))
		r.WriteKV("deleted", nil)
		return r.Commit(puts("row", "x"), nil, 0)
	})
	f.expectKV("k", "second")
	f.expectKV("deleted", "")
	f.clock.Advance(20_000)
	f.expectKV("k", "second")
	f.run(meter("a"), func(r store.Rows, _ uint64) error {
		r.WriteKV("k", nil)
		return nil // without Commit
	})
	f.expectKV("k", "")
	f.expect(meter("a"), everything, "row", "x")
}
