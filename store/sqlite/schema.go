package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// migrations are applied in order. The database's user_version is the number of applied migrations. Released
// migrations never change.
var migrations = []string{
	`CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	INSERT INTO meta VALUES ('probes', 0), ('recoveries', 0);
	CREATE TABLE objects (
		id INTEGER PRIMARY KEY, class INTEGER NOT NULL, name TEXT NOT NULL,
		alarm INTEGER NOT NULL, -- Unix milliseconds; 0: none
		UNIQUE (class, name)) STRICT;
	CREATE TABLE rows (
		object INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
		PRIMARY KEY (object, key)) STRICT, WITHOUT ROWID;
	CREATE TABLE kv (
		id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL,
		expires INTEGER NOT NULL, -- Unix milliseconds; 0: never
		size INTEGER NOT NULL -- bytes of key and value
		) STRICT;
	CREATE INDEX kv_expires ON kv (expires, size) WHERE expires > 0;`,
}

// applicationID marks the file as Postern's: "Post" in ASCII.
const applicationID = 0x506f7374

// migrate updates the schema. It refuses a schema from a newer version and, with mustExist, a database without a
// schema.
func migrate(c *sqlite3.Conn, mustExist bool) error {
	if err := checkVersion(c); err != nil {
		return err
	}
	version, err := pragma(c, "user_version")
	if err != nil {
		return err
	}
	if version == 0 && mustExist {
		return ErrMissing
	}
	for version < int64(len(migrations)) {
		version++
		steps := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", migrations[version-1], applicationID, version)
		if err := c.Exec(steps); err != nil {
			_ = c.Exec("ROLLBACK")
			return fmt.Errorf("migration %d has failed: %w", version, err)
		}
	}
	return nil
}

// checkVersion refuses a schema that is newer than this version of Postern.
func checkVersion(c *sqlite3.Conn) error {
	version, err := pragma(c, "user_version")
	if err == nil && version > int64(len(migrations)) {
		return fmt.Errorf("a newer version of Postern wrote the database (schema %d; this version knows %d): use that version, or restore a backup of this one",
			version, len(migrations))
	}
	return err
}

// pragma returns the numeric value of a pragma.
func pragma(c *sqlite3.Conn, name string) (int64, error) { return number(c, "PRAGMA "+name) }

// number returns the first column of a query's first row.
func number(c *sqlite3.Conn, query string) (n int64, err error) {
	stmt, _, err := c.Prepare(query)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	if stmt.Step() {
		n = stmt.ColumnInt64(0)
	}
	return n, stmt.Err()
}
