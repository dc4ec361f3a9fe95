package sqlite

import (
	"github.com/ncruces/go-sqlite3"
)

// writer is the connection for writing. Only the committer uses it.
type writer struct {
	conn                    *sqlite3.Conn
	begin, commit, rollback *sqlite3.Stmt
	object, put, delete     *sqlite3.Stmt
	putKV, deleteKV         *sqlite3.Stmt
	expire, evict, probe    *sqlite3.Stmt
	frames                  int   // pages in the write-ahead log after the last commit
	expiring                int64 // total bytes of values with an expiry
	grown                   int64 // how much the current transaction changes the field expiring
}

func openWriter(o *opener) (*writer, error) {
	conn, err := o.connect(sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn}
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error { w.frames = pages; return nil })
	if err := w.prepare(o.config); err != nil {
		closeConn(conn)
		return nil, err
	}
	return w, nil
}

func (w *writer) prepare(c *Config) (err error) {
	if err := migrate(w.conn, c.MustExist); err != nil {
		return err
	}
	if w.expiring, err = number(w.conn, "SELECT sum(size) FROM kv INDEXED BY kv_expires WHERE expires > 0"); err != nil {
		return err
	}
	return prepare(w.conn, map[**sqlite3.Stmt]string{
		&w.begin:    "BEGIN IMMEDIATE",
		&w.commit:   "COMMIT",
		&w.rollback: "ROLLBACK",
		&w.object:   "INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET alarm = excluded.alarm",
		&w.put:      "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
		&w.delete:   "DELETE FROM rows WHERE object = ? AND key = ?",
		&w.putKV:    "INSERT INTO kv (key, value, expires, size) VALUES (?, ?, ?, ?)",
		&w.deleteKV: "DELETE FROM kv WHERE key = ? RETURNING CASE WHEN expires > 0 THEN size ELSE 0 END",
		&w.expire: `DELETE FROM kv WHERE id IN (SELECT id FROM kv INDEXED BY kv_expires WHERE expires > 0 AND expires <= ? ORDER BY expires LIMIT ?)
			RETURNING size`,
		&w.evict: "DELETE FROM kv WHERE id IN (SELECT id FROM kv INDEXED BY kv_expires WHERE expires > 0 ORDER BY expires LIMIT ?) RETURNING size",
		&w.probe: "UPDATE meta SET value = value + 1 WHERE name = 'probes'",
	})
}

func (w *writer) write(g *group, limit int64) error {
	if err := w.begin.Exec(); err != nil {
		return err
	}
	w.grown = 0
	err := w.changes(g, limit)
	if err == nil {
		err = w.commit.Exec()
	}
	if err == nil {
		w.expiring += w.grown
		return nil
	}
	if !w.conn.GetAutocommit() {
		_ = w.rollback.Exec()
	}
	return err
}

func (w *writer) changes(g *group, limit int64) error {
	for _, c := range g.order {
		if c.dropped {
			continue
		}
		if err := w.change(c); err != nil {
			return err
		}
	}
	for i := range g.kv {
		if g.kvLatest[g.kv[i].key] != i {
			continue // a later command of the group has written the key again
		}
		if err := w.writeKV(&g.kv[i], limit); err != nil {
			return err
		}
	}
	for _, task := range g.tasks {
		if err := task(w); err != nil {
			return err
		}
	}
	if g.probe {
		return w.probe.Exec()
	}
	return nil
}

func (w *writer) change(c *change) error {
	if c.create || c.setAlarm {
		o := c.entry.object
		if err := bind(w.object, c.id, int64(o.Class), o.Name, int64(c.alarm)); err != nil {
			return err
		}
		if err := w.object.Exec(); err != nil {
			return err
		}
	}
	for i := range c.rows {
		if err := w.row(c.id, &c.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) row(id int64, r *changedRow) error {
	stmt := w.put
	if r.deleted {
		stmt = w.delete
	} else if err := stmt.BindBlob(3, r.Value); err != nil {
		return err
	}
	if err := stmt.BindInt64(1, id); err != nil {
		return err
	}
	if err := stmt.BindText(2, r.Key); err != nil {
		return err
	}
	return stmt.Exec()
}

// expireBatch is the maximum number of values that Expire removes in one transaction. evictBatch is the maximum
// number that a write removes to make room for its value.
const (
	expireBatch = 250
	evictBatch  = 16
)

// writeKV writes or deletes one value. If the values with an expiry then exceed the limit, it removes some of them.
// The ones that expire first are removed first.
func (w *writer) writeKV(v *kvWrite, limit int64) error {
	if err := bind(w.deleteKV, v.key); err != nil {
		return err
	}
	if _, err := w.remove(w.deleteKV); err != nil || len(v.value) == 0 {
		return err
	}
	size := int64(len(v.key) + len(v.value))
	if err := bind(w.putKV, v.key, v.value, int64(v.expiresMs), size); err != nil {
		return err
	}
	if err := w.putKV.Exec(); err != nil || v.expiresMs == 0 {
		return err
	}
	w.grown += size
	for w.expiring+w.grown > limit {
		if err := bind(w.evict, int64(evictBatch)); err != nil {
			return err
		}
		if removed, err := w.remove(w.evict); err != nil || removed == 0 {
			return err
		}
	}
	return nil
}

// remove runs a statement that deletes values and returns their sizes.
func (w *writer) remove(stmt *sqlite3.Stmt) (removed int, err error) {
	defer func() { err = reset(stmt, err) }()
	for stmt.Step() {
		w.grown -= stmt.ColumnInt64(0)
		removed++
	}
	return removed, stmt.Err()
}
