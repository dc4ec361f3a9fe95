package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

var object = store.Object{Class: abi.ClassLedger, Name: "p"}

func write(t *testing.T, s store.Store, key, value string) {
	t.Helper()
	err := s.Run(context.Background(), object, func(rows store.Rows, _ uint64) error { rows.WriteKV(key, []byte(value)); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	data, copied, restored := filepath.Join(dir, "data"), filepath.Join(dir, "copy.db"), filepath.Join(dir, "restored")
	running := open(t, data)
	write(t, running, "a", "acknowledged")
	if err := os.WriteFile(filepath.Join(data, "secrets.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t}
	secrets := filepath.Join(dir, "copy.json")
	s.ok("backup", copied, "--data", data, "--secrets", secrets)
	write(t, running, "b", "later")
	s.fails(exitFailed, "exists", "backup", copied, "--data", data)
	s.fails(exitFailed, "another process", "restore", copied, "--data", data)
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	s.ok("backup", filepath.Join(dir, "stopped.db"), "--data", data)
	s.fails(exitFailed, "exists", "restore", copied, "--data", data)
	s.ok("restore", copied, "--data", restored, "--secrets", secrets)
	again := open(t, restored)
	defer again.Close()
	if value, _, err := again.Read(context.Background(), "a"); err != nil || string(value) != "acknowledged" {
		t.Errorf("a: %q %v", value, err)
	}
	if value, ok, err := again.Read(context.Background(), "b"); err != nil || ok {
		t.Errorf("b: %q %v", value, err)
	}
	for _, name := range []string{copied, secrets, filepath.Join(restored, "secrets.json"), filepath.Join(restored, sqlite.DatabaseFile)} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

func TestBackupMistakes(t *testing.T) {
	dir := t.TempDir()
	s := &shell{t: t, environ: []string{"POSTERN_DATA=" + filepath.Join(dir, "none")}}
	s.fails(exitFailed, "no such file", "backup", filepath.Join(dir, "copy.db"))
	damaged := s.file("damaged.db", strings.Repeat("not a database", 1000))
	s.fails(exitFailed, "no database", "restore", damaged, "--data", filepath.Join(dir, "new"))
	s.environ = []string{"POSTERN_DATABASE=postgres://u:s3cret@db/postern"}
	for _, command := range []string{"backup", "restore"} {
		_, message, code := s.run(command, "x")
		if code != exitUsage || !strings.Contains(message, map[string]string{"backup": "pg_dump", "restore": "pg_restore"}[command]) || strings.Contains(message, "s3cret") {
			t.Errorf("%s: %d %s", command, code, message)
		}
	}
}
