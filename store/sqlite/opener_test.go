package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/test/faultvfs"
)

// TestReadsAfterFaults lets all reads fail. There are more attempts than connections. The attempts do not keep
// address space. When the disk works again, the first read on each connection succeeds.
func TestReadsAfterFaults(t *testing.T) {
	d := newDisk(t, 1, sqlite.Config{Readers: 3})
	if err := d.increment(0); err != nil {
		t.Fatal(err)
	}
	d.fs.SetFault(noReads)
	before := addressSpace(t)
	for range 200 {
		d.readFails()
	}
	if grown := addressSpace(t) - before; grown > 16<<30 {
		t.Errorf("200 failed reads keep %d MiB of address space", grown>>20)
	}
	d.fs.SetFault(nil)
	for range 6 {
		if err := d.read(); err != nil {
			t.Errorf("the disk works again: %v", err)
		}
	}
}

// TestFailedOpens lets SQLite's attempts to open the database fail just after the header was read successfully. Each
// attempt keeps memory. Their number is therefore limited until the disk works again.
func TestFailedOpens(t *testing.T) {
	d := newDisk(t, 1, sqlite.Config{Readers: 1})
	if err := d.increment(0); err != nil {
		t.Fatal(err)
	}
	d.fs.SetFault(noReads)
	d.readFails() // closes the connection
	opens := 0
	d.fs.SetFault(func(op faultvfs.Op, file string) error {
		if op == faultvfs.Open && file == sqlite.DatabaseFile {
			opens++
		}
		if opens%2 == 0 {
			return noReads(op, file)
		}
		return nil
	})
	start := time.Now()
	for range 500 {
		d.readFails()
	}
	if most := 2 * (52 + int(time.Since(start)/(5*time.Second))); opens < 2*40 || opens > most {
		t.Errorf("500 reads opened the file %d times, want at most %d", opens, most)
	}
	d.fs.SetFault(nil)
	end := time.Now().Add(giveUp)
	for err := d.read(); err != nil; err = d.read() {
		if time.Now().After(end) {
			t.Fatalf("no recovery: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func noReads(op faultvfs.Op, _ string) error {
	if op == faultvfs.Read {
		return faultvfs.ErrIO
	}
	return nil
}

// read reads a value that is not in memory.
func (d *disk) read() error {
	value, ok, err := d.store.Read(context.Background(), "kv/c0")
	if err == nil && (!ok || string(value) != "1") {
		return errors.New("read " + string(value))
	}
	return err
}

func (d *disk) readFails() {
	d.Helper()
	if err := d.read(); !errors.Is(err, store.ErrUnavailable) {
		d.Fatalf("the disk fails, but a read returned %v", err)
	}
}

// addressSpace returns the size of the process's address space in bytes. On systems without /proc, it returns 0.
func addressSpace(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	pages, err := strconv.Atoi(string(first))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
