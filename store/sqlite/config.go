// Package sqlite is the store of one server: a SQLite database in a directory.
//
// Commands run in memory. Their changes are written in groups, one transaction and one sync for all commands that came in
// while the previous group was written.
package sqlite

import (
	"log/slog"

	"github.com/postern-ai/postern/store"
)

// Names of the files in the directory.
const (
	DatabaseFile = "postern.db"
	LockFile     = "postern.lock"
)

// Durability says when a change counts as durable.
type Durability string

// Values of Durability.
const (
	Full    Durability = "full"    // it survives a loss of power
	Process Durability = "process" // it survives the end of the process, in whatever way, but not a loss of power
)

// Config configures a store. Only Dir is required.
type Config struct {
	// Dir is the directory with the database. It is created if it does not exist.
	Dir string
	// Durability is Full by default.
	Durability Durability
	// Clock is the machine's by default.
	Clock store.Clock
	// CacheBytes bounds the memory for objects that are not in use, by default 64 MiB.
	CacheBytes int
	// ObjectBytes is the size up to which an object is kept in memory as a whole, by default 256 KiB.
	ObjectBytes int
	// ExpiringBytes bounds the values with an expiry in the key-value store, by default 1 GiB. The oldest are removed first.
	ExpiringBytes int64
	// MaxWaiting is the maximum number of commands in progress, by default 10,000. More fail with store.ErrOverloaded.
	MaxWaiting int
	// Readers is the number of connections that read, by default 2.
	Readers int
	// Log receives failures of the disk and recoveries. Optional.
	Log *slog.Logger
	// VFS is the name of SQLite's file layer, for tests.
	VFS string
}
