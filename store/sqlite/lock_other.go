//go:build !unix

package sqlite

import (
	"os"
	"path/filepath"
)

// lockDir creates the directory. This system has no flock, so a second process is not kept out.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
}

func lockExisting(string) (*os.File, error) { return nil, nil }
