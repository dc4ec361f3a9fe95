package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/store/storetest"
	"github.com/postern-ai/postern/test/faultvfs"
)

var ctx = context.Background()

func commit(t *testing.T, s store.Store, name, key, value string, alarmMs uint64) {
	t.Helper()
	err := s.Run(ctx, store.Object{Class: abi.ClassLedger, Name: name}, func(r store.Rows, _ uint64) error {
		return r.Commit([]abi.Row{{Key: key, Value: []byte(value)}}, nil, alarmMs)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func value(t *testing.T, s store.Store, name, key string) (value string) {
	t.Helper()
	err := s.Run(ctx, store.Object{Class: abi.ClassLedger, Name: name}, func(r store.Rows, _ uint64) error {
		found, err := r.Read(abi.Range{Start: key})
		if len(found) > 0 {
			value = string(found[0].Value)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return value
}

// TestReopen checks that rows, alarms, IDs and the key-value store are still there after the store was closed and
// opened again.
func TestReopen(t *testing.T) {
	clock, dir := storetest.NewClock(), t.TempDir()
	for round := range 3 {
		s := open(t, sqlite.Config{Dir: dir, Clock: clock})
		if round > 0 {
			if _, at, err := s.NextAlarm(ctx); at != storetest.StartMs+5 || err != nil {
				t.Errorf("alarm %d, %v", at, err)
			}
			if v, _, err := s.Read(ctx, "k"); string(v) != "v" || err != nil || value(t, s, "a", "k") != "v" {
				t.Errorf("%q, %v", v, err)
			}
		}
		commit(t, s, "a", "k", "v", storetest.StartMs+5)
		commit(t, s, "new"+string(rune('0'+round)), "k", "other", 0)
		if err := errors.Join(s.Write(ctx, "k", []byte("v"), 10), s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, sqlite.DatabaseFile+"-wal")); err == nil {
			t.Error("Close has left a write-ahead log")
		}
	}
}

// TestRefusals checks the errors of Open.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	for name, c := range map[string]struct {
		config sqlite.Config
		want   string
	}{
		"in use":     {sqlite.Config{Dir: dir}, "another process uses the directory " + dir},
		"no dir":     {sqlite.Config{}, "Dir is empty"},
		"durability": {sqlite.Config{Dir: t.TempDir(), Durability: "some"}, `durability "some" is unknown`},
	} {
		if _, err := sqlite.Open(ctx, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	edit(t, filepath.Join(dir, sqlite.DatabaseFile), "PRAGMA user_version = 99")
	if _, err := sqlite.Open(ctx, sqlite.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "newer version of Postern wrote the database (schema 99") {
		t.Errorf("newer schema: %v", err)
	}
	edit(t, filepath.Join(dir, sqlite.DatabaseFile), "PRAGMA user_version = 1")
	if err := open(t, sqlite.Config{Dir: dir}).Close(); err != nil {
		t.Error(err)
	}
}

func edit(t *testing.T, path, statement string) {
	t.Helper()
	conn, err := sqlite3.Open(path)
	if err == nil {
		err = errors.Join(conn.Exec(statement), conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestBackup backs up a store under load and restores the copy.
func TestBackup(t *testing.T) {
	s, dir := open(t, sqlite.Config{}), t.TempDir()
	path := filepath.Join(dir, "backup.db")
	commit(t, s, "a", "k", "before", 7)
	done := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				commit(t, s, "b", "k", strings.Repeat("x", 50_000), 0)
			}
		}
	})
	if err := errors.Join(s.Backup(ctx, path), s.CheckIntegrity(ctx)); err != nil {
		t.Error(err)
	}
	close(done)
	load.Wait()
	commit(t, s, "a", "k", "after", 0)
	if err := s.Backup(ctx, path); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("second backup: %v", err)
	}
	restored := filepath.Join(dir, "restored")
	if err := errors.Join(sqlite.CheckIntegrity(ctx, path), sqlite.Restore(ctx, path, restored)); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(ctx, path, restored); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("restore over a database: %v", err)
	}
	if err := sqlite.Backup(ctx, restored, filepath.Join(dir, "again.db")); err != nil {
		t.Error(err)
	}
	copied := open(t, sqlite.Config{Dir: restored})
	if got := value(t, copied, "a", "k"); got != "before" {
		t.Errorf("%q", got)
	}
	if _, at, _ := copied.NextAlarm(ctx); at != 7 {
		t.Errorf("alarm %d", at)
	}
	if err := sqlite.Backup(ctx, restored, filepath.Join(dir, "third.db")); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("backup of a directory in use: %v", err)
	}
	if err := errors.Join(copied.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// TestDamage checks that damage is found and that a damaged backup is not restored.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	for i := range 200 {
		commit(t, s, "a", strings.Repeat("k", i+1), strings.Repeat("v", 500), 0)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, sqlite.DatabaseFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 9 * 4096; at < 12*4096; at++ {
		content[at] ^= 0x55
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.CheckIntegrity(ctx, path); err == nil {
		t.Error("damage not found")
	}
	if err := sqlite.Restore(ctx, path, t.TempDir()); err == nil {
		t.Error("damaged backup restored")
	}
	other := filepath.Join(dir, "other.db")
	edit(t, other, "CREATE TABLE t (x)")
	if err := sqlite.Restore(ctx, other, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no database of Postern") {
		t.Errorf("another program's database: %v", err)
	}
}

// TestBounds checks the limits of the cache, of values with an expiry, of the write-ahead log, and of waiting
// commands.
func TestBounds(t *testing.T) {
	s := open(t, sqlite.Config{CacheBytes: 50_000, ExpiringBytes: 100_000, LogPages: 20, MaxWaiting: 3})
	defer func() { _ = s.Close() }()
	for i := range 60 {
		name := strings.Repeat("n", i+1)
		commit(t, s, name, "k", strings.Repeat("v", 4000), 0)
		if err := s.Write(ctx, name, []byte(strings.Repeat("v", 4000)), 100); err != nil {
			t.Error(err)
		}
		if stats := s.Stats(); stats.CacheBytes > 50_000 || stats.ExpiringBytes > 100_000 || stats.LogPages > 8*20+40 {
			t.Fatalf("%+v", stats)
		}
	}
	if _, ok, err := s.Read(ctx, "n"); ok || err != nil {
		t.Errorf("the oldest value: %v, %v", ok, err)
	}
	if _, ok, err := s.Read(ctx, strings.Repeat("n", 60)); !ok || err != nil {
		t.Errorf("the newest value: %v, %v", ok, err)
	}
	if got := value(t, s, "n", "k"); len(got) != 4000 {
		t.Errorf("an object that left the cache: %d bytes", len(got))
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	var blocked sync.WaitGroup
	for _, name := range []string{"1", "2", "3"} {
		blocked.Go(func() {
			_ = s.Run(ctx, store.Object{Name: name}, func(store.Rows, uint64) error { inside <- struct{}{}; <-leave; return nil })
		})
		<-inside
	}
	if err := s.Write(ctx, "k", []byte("v"), 0); !errors.Is(err, store.ErrOverloaded) || s.Stats().Overloaded != 1 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	close(leave)
	blocked.Wait()
	commit(t, s, "n", "k", "v", 0)
}

// TestStartOnFullDisk: the error says that the disk is full.
func TestStartOnFullDisk(t *testing.T) {
	fs := faultvfs.New(t.TempDir(), 1)
	config := sqlite.Config{Dir: "/data", VFS: fs.Name}
	s := open(t, config)
	commit(t, s, "prj_1", "n", "1", 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fs.SetFault(func(op faultvfs.Op, _ string) error {
		if op == faultvfs.Write {
			return faultvfs.ErrNoSpace
		}
		return nil
	})
	config.Free = func(string) (uint64, bool) { return 0, true }
	if _, err := sqlite.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), "the disk of /data is full") {
		t.Errorf("got %v", err)
	}
}
