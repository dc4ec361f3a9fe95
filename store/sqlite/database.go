package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/postern-ai/postern/store"
)

// database contains the connections to the database. One writes, some read, and one makes checkpoints.
type database struct {
	config  *Config
	conns   sync.RWMutex // held for reading while a connection other than the writer's is in use; held for writing to reopen all connections
	readers chan *reader
	stats   *counters
	running running // backups and checks

	opener       opener
	checkpointer checkpointer
	suspected    atomic.Bool // a checkpoint has failed

	// Only the committer uses the fields below.
	writer    *writer // nil: it must be opened
	failure   error   // error of the last attempt to write
	failures  int     // number of consecutive failed attempts
	reopen    bool    // after the failure, the connections cannot be trusted
	attempted time.Time
}

// retryEvery is the time between attempts to write while the disk fails.
const retryEvery = 200 * time.Millisecond

func (d *database) open(c *Config, stats *counters) (err error) {
	d.config, d.stats = c, stats
	d.opener.config = c
	d.readers = make(chan *reader, c.Readers)
	for range c.Readers {
		d.readers <- &reader{}
	}
	if c.MustExist {
		// If the database file is empty, SQLite removes the log.
		if info, err := os.Stat(c.path()); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			return ErrMissing
		}
	}
	if c.VFS == "" {
		if err := createPrivate(c.path()); err != nil {
			return err
		}
	}
	if err := d.openWriter(); err != nil {
		return err
	}
	d.checkpointer.start(d)
	return nil
}

// openWriter opens the writer. If there is a log, it makes the log durable before anything is added to it, because a
// sync may have failed earlier (in the previous process or in an attempt to recover). SQLite creates the log with the
// first change, so openWriter makes a change. Then it makes the directory entries of the database and of its log
// durable.
func (d *database) openWriter() (err error) {
	w, err := openWriter(&d.opener)
	if err != nil {
		return err
	}
	if err = w.seal(); err == nil {
		err = w.conn.Exec("UPDATE meta SET value = value + 1 WHERE name = 'recoveries'")
	}
	if err == nil {
		err = d.syncDir()
	}
	if err != nil {
		closeConn(w.conn)
		return err
	}
	d.writer = w
	return nil
}

// createPrivate creates the database file so that only its owner can read it. SQLite gives the log the same mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// syncDir syncs the directory. SQLite's file layer does not: it syncs the file a second time instead (go-sqlite3
// v0.35.6, vfsFile.Sync in its package vfs).
func (d *database) syncDir() error {
	if layer, ok := vfs.Find(d.config.VFS).(interface{ SyncDir(string) error }); ok {
		return layer.SyncDir(d.config.Dir)
	}
	return syncDir(d.config.Dir)
}

func syncDir(name string) error {
	dir, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return dir.Sync()
}

// read runs a function with a connection for reading. It returns store.ErrUnavailable, or the error of the context.
func (d *database) read(ctx context.Context, f func(*reader) error) error {
	d.conns.RLock()
	defer d.conns.RUnlock()
	var r *reader
	select {
	case r = <-d.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { d.readers <- r }()
	var err error
	if r.conn == nil {
		err = r.connect(&d.opener)
	}
	if err == nil {
		err = f(r)
	}
	if err != nil {
		r.close()
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return nil
}

// commit writes a group. If the last attempt failed, it first tries to recover, at once and then a few times per
// second.
func (d *database) commit(g *group) error {
	if d.failures > 1 && time.Since(d.attempted) < retryEvery {
		return d.failure
	}
	err := d.recover()
	if err == nil {
		err = d.writer.write(g, d.config.ExpiringBytes)
	}
	d.note(err)
	if err == nil {
		d.stats.logPages.Store(int64(d.writer.frames))
		d.stats.expiring.Store(d.writer.expiring)
		d.limitLog()
	}
	return err
}

// note records and logs the start and the end of a failure.
func (d *database) note(err error) {
	switch {
	case err != nil && d.failure == nil:
		d.config.Log.Error("the database cannot be written; requests fail until it can", "error", err)
	case err == nil && d.failure != nil:
		d.config.Log.Info("the database can be written again")
	}
	d.failure = err
	if d.failures++; err == nil {
		d.failures = 0
	} else {
		d.attempted = time.Now()
		if !harmless(err) {
			d.reopen = true
			d.suspected.Store(true)
		}
	}
}

// harmless reports whether the connections can still be trusted after a failed transaction. They can be trusted if
// the disk was full or nothing was written.
func harmless(err error) bool {
	for _, code := range []sqlite3.ErrorCode{sqlite3.FULL, sqlite3.BUSY, sqlite3.READONLY} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, syscall.ENOSPC) && !errors.Is(err, sqlite3.IOERR_FSYNC)
}

func (d *database) close() {
	d.checkpointer.stop()
	d.interrupt()
	d.conns.Lock()
	defer d.conns.Unlock()
	d.closeOthers()
	if d.writer != nil {
		if d.failure == nil && !d.suspected.Load() {
			_, _ = d.writer.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, false)
		}
		closeConn(d.writer.conn)
		d.writer = nil
	}
}

// interrupt ends backups and checks. Otherwise, they would use the connections for a long time.
func (d *database) interrupt() { d.running.interrupt() }

// closeOthers closes all connections except the writer's. The caller holds conns.
func (d *database) closeOthers() {
	for range cap(d.readers) {
		r := <-d.readers
		r.close()
		d.readers <- r
	}
	closeConn(d.checkpointer.conn)
	d.checkpointer.conn = nil
}
