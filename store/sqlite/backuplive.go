package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// ErrInUse means that another process uses the directory.
var ErrInUse = errors.New("store: another process uses the directory")

// BackupLive does the same as Backup, for a directory whose server may be running. SQLite's write-ahead log lets
// another process read a consistent state.
func BackupLive(ctx context.Context, dir, path string) error {
	config := Config{Dir: dir}
	if _, err := os.Stat(config.path()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return withConn(ctx, config.uri(DatabaseFile), func(c *sqlite3.Conn) error { return backup(c, path) })
}
