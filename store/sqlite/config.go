// Package sqlite is the store of one server: a SQLite database in a directory.
//
// Commands run in memory. Their changes are written in groups. All commands that arrive while a group is being
// written form the next group: one transaction and one sync.
package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/postern-ai/postern/store"
)

// Names of the files in the directory.
const (
	DatabaseFile = "postern.db"
	LockFile     = "postern.lock"
)

// ErrMissing means that Config.MustExist was set and the directory has no database with tables.
var ErrMissing = errors.New("store: the database is missing, empty or without tables")

// Durability says when a change counts as durable.
type Durability string

// Values of Durability.
const (
	Full    Durability = "full"    // survives a loss of power
	Process Durability = "process" // survives any end of the process but not a power failure
)

// Config configures a store. Only Dir is required.
type Config struct {
	// Dir is the directory with the database. It is created if it does not exist.
	Dir string
	// MustExist makes Open fail with ErrMissing if the directory has no database with tables. Without MustExist, Open
	// creates the database.
	MustExist bool
	// Durability is Full by default.
	Durability Durability
	// Clock is the machine's clock by default.
	Clock store.Clock
	// CacheBytes limits the memory for objects that are not in use, by default to 64 MiB.
	CacheBytes int
	// ObjectBytes is the size up to which all rows of an object are kept in memory, by default 256 KiB.
	ObjectBytes int
	// ExpiringBytes limits the size of values with an expiry in the key-value store, by default to 1 GiB. The values
	// that expire first are removed first.
	ExpiringBytes int64
	// MaxWaiting is the maximum number of commands in progress, by default 10,000. Further commands fail with
	// store.ErrOverloaded.
	MaxWaiting int
	// Readers is the number of connections for reading, by default 2.
	Readers int
	// Log receives messages about disk failures and recoveries. Optional.
	Log *slog.Logger
	// LogPages is the length of the write-ahead log, in pages of 4 KiB, at which a checkpoint runs. The default is
	// 1,000. If commits are faster than checkpoints, the log grows to about eight times that length.
	LogPages int
	// Observe is called after each group, by the goroutine that writes them. Optional.
	Observe func(Commit)
	// Free replaces the function that returns the free bytes on the disk of a directory, in tests.
	Free func(dir string) (bytes uint64, ok bool)
	// VFS is the name of SQLite's file layer, for tests.
	VFS string
}

// withDefaults returns the configuration with its defaults filled in, or an error that names the wrong field.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Dir == "":
		return c, errors.New("store: sqlite.Config.Dir is empty: name the directory of the database")
	case c.Durability != "" && c.Durability != Full && c.Durability != Process:
		return c, fmt.Errorf("store: durability %q is unknown: use %q or %q", c.Durability, Full, Process)
	}
	c.Durability = cmp.Or(c.Durability, Full)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.ObjectBytes = cmp.Or(c.ObjectBytes, 256<<10)
	c.ExpiringBytes = cmp.Or(c.ExpiringBytes, 1<<30)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 10_000)
	c.LogPages = cmp.Or(c.LogPages, 1000)
	c.Readers = cmp.Or(c.Readers, 2)
	if c.Free == nil {
		c.Free = free
	}
	if c.Clock == nil {
		c.Clock = machineClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func (c *Config) path() string { return filepath.Join(c.Dir, DatabaseFile) }
