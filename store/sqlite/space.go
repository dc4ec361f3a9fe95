package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// fullBelow is a number of free bytes. If fewer are free, a failure is taken for a full disk. SQLite reports some of
// these failures as I/O errors.
const fullBelow = 1 << 20

// explain returns an error that names the disk if the database cannot be opened because the disk is full.
func (c *Config) explain(err error) error {
	left, known := c.Free(c.Dir)
	switch {
	case known && left < fullBelow:
		return fmt.Errorf("the disk of %s is full (%d bytes are free): free some space: %w", c.Dir, left, err)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk of %s is full: free some space: %w", c.Dir, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the disk of %s is read-only: %w", c.Dir, err)
	}
	return err
}
