package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command doctor does not create a directory, a database or a lock.
func TestDoctorMakesNothing(t *testing.T) {
	s, dir := &shell{t: t}, t.TempDir()
	data := filepath.Join(dir, "data")
	args := []string{"doctor", "--data", data, "--listen", "127.0.0.1:0", "--ops-listen", "off"}
	if out := s.ok(args...); !strings.Contains(out, "does not exist yet") || !strings.Contains(out, "no database yet") {
		t.Errorf("output\n%s", out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("doctor made %v", entries)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	s.ok(args...)
	if entries, _ := os.ReadDir(data); len(entries) != 0 {
		t.Errorf("doctor made %v", entries)
	}
}
