//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir creates the directory and locks it against other processes. The lock ends with the process.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return tryLock(f, dir)
}

// lockExisting locks a directory without creating a file in it. If the directory has no lock file, no server uses it,
// and the lock is nil.
func lockExisting(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tryLock(f, dir)
}

func tryLock(f *os.File, dir string) (*os.File, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w %s: stop it, or name another directory", ErrInUse, dir)
	}
	return nil, fmt.Errorf("store: cannot lock %s: %w", f.Name(), err)
}
