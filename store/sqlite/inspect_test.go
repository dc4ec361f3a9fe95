package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/postern-ai/postern/store/sqlite"
)

// files returns the content of the files in a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		text, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		found[entry.Name()], err = string(text), errors.Join(err, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unchanged inspects a directory and checks that no file has changed.
func unchanged(t *testing.T, dir string) error {
	t.Helper()
	before := files(t, dir)
	err := sqlite.Inspect(ctx, dir)
	after := files(t, dir)
	for name, text := range after {
		if was, existed := before[name]; !existed || was != text {
			t.Errorf("%s was made or changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	return err
}

// TestInspect inspects databases of stopped and of killed servers.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	if err := unchanged(t, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: %v", err)
	}
	s := open(t, sqlite.Config{Dir: dir})
	commit(t, s, "a", "k", "v", 0)
	if err := sqlite.Inspect(ctx, dir); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("a running server: %v", err)
	}
	killed := t.TempDir()
	for name, text := range files(t, dir) {
		if name != sqlite.DatabaseFile+"-shm" {
			if err := os.WriteFile(filepath.Join(killed, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files(t, killed)[sqlite.DatabaseFile+"-wal"]) == 0 {
		t.Fatal("the killed server has no log")
	}
	if err := errors.Join(s.Close(), unchanged(t, dir), unchanged(t, killed)); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{dir, killed} {
		s := open(t, sqlite.Config{Dir: dir})
		if value(t, s, "a", "k") != "v" {
			t.Error("the change is lost")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	damaged := filepath.Join(dir, sqlite.DatabaseFile)
	if err := os.WriteFile(damaged, []byte("no database at all, but some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unchanged(t, dir); err == nil {
		t.Error("a damaged file passes")
	}
}
