// Package store defines the durable state of a deployment on the Go host: objects with their rows and alarms, and the
// key-value store. Package memory implements it for tests, package sqlite for one server, and package postgres for
// several.
package store

import (
	"context"
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
)

// Errors of a store. Any other error that Run returns is the command's own.
var (
	// ErrUnavailable means that the store could not read, or could not make the changes durable. The command may be
	// retried.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrOverloaded means that too many commands are waiting.
	ErrOverloaded = errors.New("store: overloaded")
	// ErrTooLarge means that a command writes more than the limits allow. Nothing has been changed.
	ErrTooLarge = errors.New("store: the command writes too much")
)

// Limits of one command, which are the same in every store. The platform's limit is 2 MB per row.
const (
	MaxRowBytes     = 2_000_000
	MaxCommandBytes = 8_000_000
)

// Object names an object.
type Object struct {
	Class abi.Class
	Name  string
}

// Rows is an object's storage during one command. No other command uses it at that time. Returned values must not be
// changed and are valid until the command returns. Commit is called at most once, after all reads. It takes the values
// over, so their memory must not be changed afterward.
type Rows interface {
	object.Rows
	// Alarm returns the time of the object's alarm in Unix milliseconds, or 0 if none is set.
	Alarm() uint64
	// WriteKV writes a value without expiry as part of the command's transaction. If the value is empty, it deletes
	// the key.
	WriteKV(key string, value []byte)
}

// Command is a piece of work on one object. nowMs is the store's time in Unix milliseconds. If the command returns an
// error, nothing changes. It may run more than once, each time on the object's current rows. Only the last run
// counts.
type Command func(rows Rows, nowMs uint64) error

// Store keeps objects and the key-value store. Its methods are safe for concurrent use.
type Store interface {
	KV
	// Run runs a command on an object. An object exists as soon as it has a row or an alarm. If Run returns nil, the
	// command's changes are durable, and so are all changes that the command has read.
	Run(ctx context.Context, o Object, command Command) error
	// Ring runs the command of the earliest alarm that is due and clears that alarm in the same transaction. It returns
	// false if none is due. A failed command leaves the alarm set.
	Ring(ctx context.Context, command func(o Object, rows Rows, nowMs uint64) error) (rang bool, err error)
	// NextAlarm returns the store's time and the time of the earliest alarm, or 0 if none is set.
	NextAlarm(ctx context.Context) (nowMs, alarmMs uint64, err error)
	// Expire removes a limited number of expired values from the key-value store and returns their number.
	Expire(ctx context.Context) (removed int, err error)
	// Check returns nil if the store can commit a change now.
	Check(ctx context.Context) error
	// Close closes the store. Commands in progress fail or become durable.
	Close() error
}

// KV is a key-value store. Real implementations are eventually consistent, so the key-value store is never the source
// of truth.
type KV interface {
	// Read returns a value. If there is none, ok is false. The value may be out of date by the store's own delay plus
	// abi.Configured.KVCacheSeconds.
	Read(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Write stores a value for ttlSeconds. 0 means no expiry. An empty value deletes the key.
	Write(ctx context.Context, key string, value []byte, ttlSeconds uint64) error
}

// Clock returns the time in Unix milliseconds.
type Clock interface{ Now() uint64 }

// CheckSize returns ErrTooLarge if a commit exceeds the limits.
func CheckSize(puts []abi.Row) error {
	total := 0
	for _, row := range puts {
		if total += len(row.Key) + len(row.Value); len(row.Value) > MaxRowBytes {
			return ErrTooLarge
		}
	}
	if total > MaxCommandBytes {
		return ErrTooLarge
	}
	return nil
}
