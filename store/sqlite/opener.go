package sqlite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// opener opens connections. When SQLite opens the file, it reads the header. If that fails, the memory and the
// address space of the attempt are not freed until the process ends (go-sqlite3 v0.35.6, newConn). Therefore, opener
// first reads the header itself. If all reads fail, the attempts then cost nothing. As soon as the disk works,
// connections can be opened.
type opener struct {
	config *Config

	mu      sync.Mutex
	failure error     // of SQLite's last attempt
	charged time.Time // each failed attempt moves it forward by lostEvery, from now if it is in the past
}

// SQLite may fail lostAtOnce times in a row. After that, it may fail once per lostEvery.
const (
	lostAtOnce = 50
	lostEvery  = 5 * time.Second
)

func (o *opener) open(flags sqlite3.OpenFlag) (*sqlite3.Conn, error) {
	if err := o.exhausted(); err != nil {
		return nil, err
	}
	if err := o.config.readable(flags); err != nil {
		return nil, err
	}
	conn, err := sqlite3.OpenFlags(o.config.uri(DatabaseFile), flags)
	if err != nil {
		o.lost(err)
		return nil, err
	}
	return conn, nil
}

// exhausted returns the last failure if SQLite has failed too often.
func (o *opener) exhausted() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Until(o.charged) < lostAtOnce*lostEvery {
		return nil
	}
	return o.failure
}

func (o *opener) lost(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); o.charged.Before(now) {
		o.charged = now
	}
	o.charged = o.charged.Add(lostEvery)
	o.failure = err
}

// readable opens the database's file and reads its header.
func (c *Config) readable(flags sqlite3.OpenFlag) error {
	f, err := c.file(flags)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err = f.ReadAt(make([]byte, 100), 0); errors.Is(err, io.EOF) {
		return nil // the file is new
	}
	return err
}

// file opens the database's file in SQLite's file layer.
func (c *Config) file(flags sqlite3.OpenFlag) (interface {
	io.ReaderAt
	io.Closer
}, error,
) {
	if c.VFS == "" {
		return os.OpenFile(filepath.Clean(c.path()), os.O_RDWR, 0)
	}
	f, _, err := vfs.Find(c.VFS).Open(c.path(), vfs.OpenFlag(flags)|vfs.OPEN_MAIN_DB)
	return f, err
}
