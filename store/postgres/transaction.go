package postgres

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// transaction is the transaction of an object's commands. If the object exists, it holds the lock of the object's row. An
// object that does not exist has no rows. If the object appears before the commit, the commands are repeated.
type transaction struct {
	store   *Store
	conn    *pgxpool.Conn
	ctx     context.Context
	object  store.Object
	id      int64 // 0: the object does not exist
	version int64
	alarmMs uint64 // 0: none
	nowMs   uint64
	rang    bool   // the command belongs to the alarm
	applied uint64 // commands that have succeeded
	known   *int64 // version of the rows in memory; nil: no rows
	shared  int    // see cached
	facts   *facts
	rows    rows
}

// begin starts the transaction, locks the object, and reads the rows that its command will probably need, all in one
// round trip.
func (t *transaction) begin() error {
	t.recall()
	var batch pgx.Batch
	batch.Queue(stBegin)
	batch.Queue(stLock, int16(t.object.Class), t.object.Name)
	keys := t.hints()
	if len(keys) > 0 {
		batch.Queue(stReadUsual, int16(t.object.Class), t.object.Name, t.known, keys)
	}
	results := t.conn.SendBatch(t.ctx, &batch)
	defer results.Close()
	if _, err := results.Exec(); err != nil {
		return err
	}
	var id, version, alarm *int64
	var now int64
	if err := results.QueryRow().Scan(&id, &version, &alarm, &now); err != nil {
		return err
	}
	t.nowMs = t.store.time(now)
	if id == nil {
		t.facts = noRows()
		return results.Close()
	}
	t.id, t.version, t.alarmMs = *id, *version, unsigned(alarm)
	t.check()
	if len(keys) > 0 {
		if err := t.learn(results, keys); err != nil {
			return err
		}
	}
	return results.Close()
}

// recall takes out the facts that this replica has about the object.
func (t *transaction) recall() {
	if entry := t.store.cache.take(t.object); entry != nil {
		t.known, t.shared, t.facts = &entry.version, entry.shared, entry.facts
	}
}

// hints returns the keys that are read together with the lock. If the rows in memory are probably up to date, there
// are none.
func (t *transaction) hints() []string {
	if t.known != nil && t.shared == 0 {
		return nil
	}
	return t.store.hints.keys(t.object.Class)
}

// check drops the rows in memory if they are out of date. That happens if another replica uses the object as well.
func (t *transaction) check() {
	switch {
	case t.known == nil:
		t.facts = &facts{}
	case *t.known != t.version:
		t.known, t.facts, t.shared = nil, &facts{}, sharedFor
	default:
		t.shared = max(0, t.shared-1)
	}
}

// learn adds the rows that were read together with the lock. If the rows in memory are up to date, no rows were read.
func (t *transaction) learn(results pgx.BatchResults, keys []string) error {
	result, err := results.Query()
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(result, scanRow)
	if err != nil || t.known != nil {
		return err
	}
	for _, key := range keys {
		t.facts.delete(key)
	}
	for _, row := range found {
		t.facts.put(row)
	}
	return nil
}

// beginDue starts a transaction and locks an object: the one with the earliest due alarm that no other transaction
// has locked. If there is none, it returns false.
func (t *transaction) beginDue(except []int64) (bool, error) {
	var batch pgx.Batch
	batch.Queue(stBegin)
	batch.Queue(stLockDue, t.store.testTime(), except)
	results := t.conn.SendBatch(t.ctx, &batch)
	defer results.Close()
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	var class int16
	var alarm *int64
	var now int64
	err := results.QueryRow().Scan(&t.id, &class, &t.object.Name, &t.version, &alarm, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, results.Close()
	}
	if err != nil {
		return false, err
	}
	t.object.Class, t.alarmMs, t.nowMs, t.rang = abi.Class(class), unsigned(alarm), t.store.time(now), true
	t.recall()
	t.check()
	return true, results.Close()
}

// unsigned converts a column of milliseconds. NULL becomes 0.
func unsigned(ms *int64) uint64 {
	if ms == nil {
		return 0
	}
	return uint64(*ms)
}

// signed converts milliseconds to a parameter. 0 becomes NULL.
func signed(ms uint64) *int64 {
	if ms == 0 {
		return nil
	}
	n := int64(min(ms, math.MaxInt64))
	return &n
}

func (t *transaction) read(g abi.Range) (found []abi.Row, err error) {
	var result pgx.Rows
	if g.End == "" {
		result, err = t.conn.Query(t.ctx, stReadOne, t.id, bound(g.Start))
	} else {
		result, err = t.conn.Query(t.ctx, stReadRange, t.id, bound(g.Start), bound(g.End), int64(min(g.Limit, math.MaxInt64)))
	}
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(result, scanRow)
}

func scanRow(row pgx.CollectableRow) (r abi.Row, err error) {
	err = row.Scan(&r.Key, &r.Value)
	return r, err
}

// bound replaces NUL in the end of a range, because PostgreSQL does not accept NUL. Keys are printable, so the next
// character has the same effect.
func bound(key string) string { return strings.ReplaceAll(key, "\x00", "\x01") }

// rollback ends the transaction after an error, so that the connection can be used again.
func (t *transaction) rollback() {
	ctx, cancel := t.store.committing(t.ctx)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "ROLLBACK") // if it fails, the pool closes the connection
}

// commit writes the commands' changes and commits. This takes one round trip, or two if it creates the object.
// Read-only commands commit as well. The lock on the object's row is written to the log. COMMIT therefore returns
// only when everything that the commands read is durable, including on the synchronous standby.
func (t *transaction) commit() error {
	ctx, cancel := t.store.committing(t.ctx)
	defer cancel()
	changed := t.rows.changed()
	if changed {
		t.version = newVersion(t.version)
	}
	alarmMs := t.rows.Alarm()
	if t.id == 0 && (changed || alarmMs != 0) {
		if err := t.create(ctx, alarmMs); err != nil {
			return err
		}
	}
	var batch pgx.Batch
	if t.id != 0 && (changed || t.rang || alarmMs != t.alarmMs) {
		batch.Queue(stUpdate, t.id, t.version, signed(alarmMs))
	}
	t.rows.queue(&batch, t.id)
	batch.Queue(stCommit)
	began := time.Now()
	err := t.send(ctx, &batch)
	if err == nil {
		t.store.figures.durations.Add(time.Since(began))
		t.store.figures.grouped.Add(t.applied)
	}
	return err
}

// newVersion returns a random version. A counter would use versions again after a backup is restored, or after a
// failover that loses commits. A replica that has rows of a lost version in memory would then take them for the
// current rows.
func newVersion(old int64) int64 {
	for {
		if v := rand.Int64(); v != old {
			return v
		}
	}
}

// create inserts the object. It fails with errAppeared if another transaction was faster.
func (t *transaction) create(ctx context.Context, alarmMs uint64) error {
	err := t.conn.QueryRow(ctx, stCreate, int16(t.object.Class), t.object.Name, t.version, signed(alarmMs)).Scan(&t.id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errAppeared
	}
	if err != nil {
		return uncommitted{err}
	}
	t.alarmMs = alarmMs
	return nil
}

// send sends the last statements of the transaction. COMMIT is the last one.
func (t *transaction) send(ctx context.Context, batch *pgx.Batch) error {
	data := t.conn.Conn().PgConn().CustomData()
	delete(data, warned)
	results := t.conn.SendBatch(ctx, batch)
	defer results.Close()
	for i := range batch.Len() {
		tag, err := results.Exec()
		last := i == batch.Len()-1
		switch {
		case err != nil && refused(err, last):
			return uncommitted{err}
		case err != nil:
			return errors.Join(errUnknown, err)
		case last && tag.String() != "COMMIT":
			return uncommitted{errOvertaken}
		}
	}
	if err := results.Close(); err != nil || data[warned] != nil {
		return errors.Join(errUnknown, err)
	}
	return nil
}

// refused reports whether a statement's error proves that the transaction did not commit. The server must have said
// so. An error that says only that the server shut down proves nothing, because COMMIT may have come before. If the
// session ended because its transaction was idle, the server has not read the COMMIT.
func refused(err error, commit bool) bool {
	server := serverError(err)
	return server != nil && (!commit || server.SeverityUnlocalized == "ERROR" || server.Code == idleTooLong)
}
