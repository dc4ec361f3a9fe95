package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// reader is a connection for reading. conn is nil until its first use.
type reader struct {
	conn                         *sqlite3.Conn
	object, all, one, scan, pair *sqlite3.Stmt
}

func (r *reader) connect(o *opener) (err error) {
	if r.conn, err = o.connect(sqlite3.OPEN_READWRITE); err != nil {
		r.conn = nil
		return err
	}
	return prepare(r.conn, map[**sqlite3.Stmt]string{
		&r.object: "SELECT id FROM objects WHERE class = ? AND name = ?",
		&r.all:    "SELECT key, value FROM rows WHERE object = ? ORDER BY key",
		&r.one:    "SELECT key, value FROM rows WHERE object = ? AND key = ?",
		&r.scan:   "SELECT key, value FROM rows WHERE object = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
		&r.pair:   "SELECT value, expires FROM kv WHERE key = ?",
	})
}

func (r *reader) close() {
	closeConn(r.conn)
	*r = reader{}
}

// loadAlarms calls set with each alarm, and returns the largest ID of an object.
func (r *reader) loadAlarms(set func(store.Object, uint64)) (lastID int64, err error) {
	stmt, _, err := r.conn.Prepare("SELECT class, name, alarm FROM objects WHERE alarm > 0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	for stmt.Step() {
		set(store.Object{Class: abi.Class(stmt.ColumnInt64(0)), Name: stmt.ColumnText(1)}, uint64(stmt.ColumnInt64(2)))
	}
	if err := stmt.Err(); err != nil {
		return 0, err
	}
	return number(r.conn, "SELECT max(id) FROM objects")
}

// find returns an object's ID, or 0 if there is none.
func (r *reader) find(o store.Object) (id int64, err error) {
	defer func() { err = reset(r.object, err) }()
	if err := bind(r.object, int64(o.Class), o.Name); err != nil {
		return 0, err
	}
	if r.object.Step() {
		id = r.object.ColumnInt64(0)
	}
	return id, r.object.Err()
}

// load returns all rows of an object and their size. If the size exceeds the limit, it stops.
func (r *reader) load(id int64, limit int) (rows []abi.Row, bytes int, err error) {
	defer func() { err = reset(r.all, err) }()
	if err := bind(r.all, id); err != nil {
		return nil, 0, err
	}
	for bytes <= limit && r.all.Step() {
		rows = append(rows, row(r.all))
		bytes += sizeOf(&rows[len(rows)-1])
	}
	return rows, bytes, r.all.Err()
}

// readRange returns at most limit rows of a range.
func (r *reader) readRange(id int64, g abi.Range, limit uint64) (rows []abi.Row, err error) {
	stmt := r.scan
	if g.End == "" {
		stmt = r.one
		err = bind(stmt, id, g.Start)
	} else {
		err = bind(stmt, id, g.Start, g.End, int64(limit))
	}
	defer func() { err = reset(stmt, err) }()
	for err == nil && stmt.Step() {
		rows = append(rows, row(stmt))
	}
	if err == nil {
		err = stmt.Err()
	}
	return rows, err
}

func row(stmt *sqlite3.Stmt) abi.Row {
	return abi.Row{Key: stmt.ColumnText(0), Value: stmt.ColumnBlob(1, nil)}
}

// value returns a value of the key-value store, unless it has expired.
func (r *reader) value(key string, now uint64) (value []byte, ok bool, err error) {
	defer func() { err = reset(r.pair, err) }()
	if err := bind(r.pair, key); err != nil {
		return nil, false, err
	}
	if r.pair.Step() {
		expires := uint64(r.pair.ColumnInt64(1))
		if ok = expires == 0 || expires > now; ok {
			value = r.pair.ColumnBlob(0, nil)
		}
	}
	return value, ok, r.pair.Err()
}

// bind binds the parameters of a statement: int64, string or []byte.
func bind(stmt *sqlite3.Stmt, parameters ...any) (err error) {
	for i, p := range parameters {
		switch p := p.(type) {
		case int64:
			err = stmt.BindInt64(i+1, p)
		case string:
			err = stmt.BindText(i+1, p)
		case []byte:
			err = stmt.BindBlob(i+1, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reset ends the execution of a statement. This releases the statement's snapshot of the database.
func reset(stmt *sqlite3.Stmt, err error) error {
	if again := stmt.Reset(); err == nil {
		return again
	}
	return err
}
