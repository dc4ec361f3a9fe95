package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/postern-ai/postern/store"
)

// Backup writes a consistent copy of the database to a new file while the store runs. The copy contains every change
// that was durable when Backup was called. Backup fails if the file exists.
func (s *Store) Backup(ctx context.Context, path string) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	return s.db.exclusive(ctx, func(c *sqlite3.Conn) error { return backup(c, path) })
}

// Backup does the same as Store.Backup, for the directory of a stopped server.
func Backup(ctx context.Context, dir, path string) error {
	return stopped(ctx, dir, func(c *sqlite3.Conn) error { return backup(c, path) })
}

func backup(c *sqlite3.Conn, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %s exists: name a new file", path)
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := createPrivate(part); err != nil {
		return err
	}
	err := c.Exec("VACUUM INTO " + sqlite3.Quote(part))
	if err == nil {
		err = publish(part, path)
	}
	if err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("store: backup to %s: %w", path, err)
	}
	return nil
}

// publish makes a complete file durable under its name.
func publish(part, path string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Restore creates the database of a directory from a backup. It fails if the directory already has a database, if
// another process uses the directory, or if the backup is damaged.
func Restore(ctx context.Context, path, dir string) error {
	if err := CheckIntegrity(ctx, path); err != nil {
		return err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock(lock)
	target := filepath.Join(dir, DatabaseFile)
	for _, name := range []string{target, target + "-wal"} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %s exists: restore into another directory, or move the old database away", name)
		}
	}
	part := target + ".part"
	if err = copyFile(path, part); err == nil {
		err = publish(part, target)
	}
	if err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("store: restore of %s: %w", path, err)
	}
	return nil
}

func copyFile(from, to string) error {
	source, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(filepath.Clean(to), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// CheckIntegrity checks the complete database while the store runs. It returns store.ErrUnavailable, or a description
// of the damage.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	return s.db.exclusive(ctx, checkIntegrity)
}

// CheckIntegrity checks a database file, such as a backup or the database of a stopped server. It does not change the
// file.
func CheckIntegrity(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	config := Config{Dir: filepath.Dir(path)}
	return withConn(ctx, config.uri(filepath.Base(path)), checkIntegrity)
}

// withConn runs a function with a separate connection.
func withConn(ctx context.Context, uri string, f func(*sqlite3.Conn) error) error {
	conn, err := sqlite3.OpenFlags(uri, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI|sqlite3.OPEN_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	defer closeConn(conn)
	if _, err := conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		return err
	}
	conn.SetInterrupt(ctx)
	return f(conn)
}

// stopped runs a function with a connection to the database of a directory that no other process uses.
func stopped(ctx context.Context, dir string, f func(*sqlite3.Conn) error) error {
	config := Config{Dir: dir}
	if _, err := os.Stat(config.path()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock(lock)
	return withConn(ctx, config.uri(DatabaseFile), f)
}

// checkIntegrity runs SQLite's own check. It also checks that the file is Postern's and has a known version.
func checkIntegrity(c *sqlite3.Conn) error {
	stmt, _, err := c.Prepare("PRAGMA integrity_check(10)")
	if err != nil {
		return fmt.Errorf("store: the file is no database that can be read: %w", err)
	}
	defer func() { _ = stmt.Close() }()
	for stmt.Step() {
		if text := stmt.ColumnText(0); text != "ok" {
			err = errors.Join(err, errors.New("store: damaged: "+text))
		}
	}
	if err = errors.Join(err, stmt.Err()); err != nil {
		return err
	}
	if id, err := pragma(c, "application_id"); err != nil || id != applicationID {
		return errors.Join(err, errors.New("store: the file is no database of Postern"))
	}
	return checkVersion(c)
}

// exclusive runs a function with a new connection. A recovery interrupts the function.
func (d *database) exclusive(ctx context.Context, f func(*sqlite3.Conn) error) error {
	d.conns.RLock()
	defer d.conns.RUnlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.running.add(&cancel)
	defer d.running.remove(&cancel)
	return withConn(ctx, d.config.uri(DatabaseFile), f)
}
