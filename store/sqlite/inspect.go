package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"

	"github.com/postern-ai/postern/store"
)

// Inspect checks the database in the directory of a stopped server. It neither creates nor changes files. If there is
// no database, its error matches fs.ErrNotExist. If a server is running, its error matches ErrInUse.
func Inspect(ctx context.Context, dir string) error {
	config := Config{Dir: dir}
	if _, err := os.Stat(config.path()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	lock, err := lockExisting(dir)
	if err != nil {
		return err
	}
	defer unlock(lock)
	conn, err := inspecting(&config)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	defer closeConn(conn)
	conn.SetInterrupt(ctx)
	return checkIntegrity(conn)
}

// inspecting opens a connection for Inspect. If the database has no write-ahead log, it is opened as immutable, so
// that SQLite does not create a log and its index (https://sqlite.org/uri.html#uriimmutable). If a killed server has
// left a log behind, that log must be read. With an exclusive lock, its index is in memory
// (https://sqlite.org/wal.html#noshm). The log stays, because closing the connection does not make a checkpoint.
func inspecting(c *Config) (*sqlite3.Conn, error) {
	uri := c.uri(DatabaseFile)
	if info, err := os.Stat(c.path() + "-wal"); err != nil || info.Size() == 0 {
		return sqlite3.OpenFlags(uri+"?immutable=1", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI|sqlite3.OPEN_NOFOLLOW)
	}
	conn, err := sqlite3.OpenFlags(uri, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI|sqlite3.OPEN_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err == nil {
		err = conn.Exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON")
	}
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	return conn, nil
}
