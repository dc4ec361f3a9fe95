package sqlite

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Every connection has these pragmas. Checkpoints run in a separate goroutine, so no connection starts one, not even
// when it is closed.
const pragmas = `PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;
	PRAGMA busy_timeout = 5000; PRAGMA journal_size_limit = 16777216; PRAGMA synchronous = `

func (o *opener) connect(flags sqlite3.OpenFlag) (*sqlite3.Conn, error) {
	conn, err := o.open(flags | sqlite3.OPEN_URI | sqlite3.OPEN_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err == nil {
		err = conn.Exec(pragmas + o.config.synchronous())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// synchronous returns the value of SQLite's pragma. In WAL mode, FULL syncs the log on each commit, and NORMAL only
// before checkpoints. The database stays consistent with both: https://sqlite.org/pragma.html#pragma_synchronous
func (c *Config) synchronous() string {
	if c.Durability == Process {
		return "NORMAL"
	}
	return "FULL"
}

// uri returns the name under which SQLite opens a file in the directory: https://sqlite.org/uri.html
func (c *Config) uri(file string) string {
	uri := "file:" + strings.ReplaceAll(url.PathEscape(filepath.Join(c.Dir, file)), "%2F", "/")
	if c.VFS != "" {
		uri += "?vfs=" + c.VFS
	}
	return uri
}

// prepare compiles statements, given as pairs of a target and its text.
func prepare(c *sqlite3.Conn, statements map[**sqlite3.Stmt]string) error {
	for target, text := range statements {
		stmt, _, err := c.PrepareFlags(text, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		*target = stmt
	}
	return nil
}

// closeConn closes a connection and its statements. It ignores their errors, because these only repeat errors of
// earlier statements.
func closeConn(c *sqlite3.Conn) {
	if c == nil {
		return
	}
	var open []*sqlite3.Stmt
	for stmt := range c.Stmts() {
		open = append(open, stmt)
	}
	for _, stmt := range open {
		_ = stmt.Close()
	}
	_ = c.Close()
}
