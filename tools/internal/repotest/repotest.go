// Package repotest creates small git repositories for tests.
package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// New creates a git repository with uncommitted files and returns its root.
func New(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	command := exec.Command("git", "init", "-q")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	for path, text := range files {
		Write(t, root, path, text)
	}
	return root
}

// Write writes a file in a repository and creates its parent directories.
func Write(t *testing.T, root, path, text string) {
	t.Helper()
	file := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
