package postgres

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// rows implements store.Rows. It holds back a command's changes until the command has succeeded, and the changes of a
// transaction's commands until the commit. The facts have the changes of the commands that have succeeded.
type rows struct {
	*transaction
	puts    []abi.Row // of the command, each key once
	deletes []string
	wakeMs  uint64 // the alarm that the command asked for; 0: none
	kv      []abi.Row
	failed  error // error of a read; after it, the transaction has failed, even if the command ignores it

	unsent  changes // of the commands before
	sent    bool    // earlier changes were sent before a read
	alarmed bool    // a command has set the alarm
	setMs   uint64  // to this time
	bytes   int     // of all changes
}

// changes are rows to write.
type changes struct {
	rows map[string][]byte // by key; nil: deleted
	kv   []abi.Row
}

// begin prepares for a command.
func (r *rows) begin(t *transaction) {
	r.transaction = t
	r.puts, r.deletes, r.wakeMs, r.kv = nil, nil, 0, nil
}

// apply adds the changes of a command that has succeeded.
func (r *rows) apply() {
	r.setMs, r.alarmed = r.alarm(), true
	if r.unsent.rows == nil {
		r.unsent.rows = make(map[string][]byte, len(r.puts)+len(r.deletes))
	}
	for _, row := range r.puts {
		r.bytes += len(row.Key) + len(row.Value)
		r.facts.put(row)
		r.unsent.rows[row.Key] = notNull(row.Value)
	}
	for _, key := range r.deletes {
		r.facts.delete(key)
		r.unsent.rows[key] = nil
	}
	for _, row := range r.kv {
		r.bytes += len(row.Key) + len(row.Value)
	}
	r.unsent.kv = append(r.unsent.kv, r.kv...)
}

// Alarm implements store.Rows. A ringing alarm is no longer set.
func (r *rows) Alarm() uint64 {
	switch {
	case r.alarmed:
		return r.setMs
	case r.rang:
		return 0
	}
	return r.alarmMs
}

// Read implements store.Rows.
func (r *rows) Read(g abi.Range) ([]abi.Row, error) {
	if g.End == "" {
		r.store.hints.note(r.object.Class, g.Start)
	}
	if found, known := r.facts.read(g); known {
		r.store.figures.hits.Add(1)
		return found, nil
	}
	r.store.figures.misses.Add(1)
	err := r.sendChanges()
	var found []abi.Row
	if err == nil {
		found, err = r.read(g)
	}
	if err != nil {
		r.failed = err
		return nil, err
	}
	r.facts.learn(g, found)
	return found, nil
}

// Commit implements store.Rows. If a key is put twice, the last value wins. Deletes are applied after puts.
func (r *rows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	if err := store.CheckSize(puts); err != nil {
		return err
	}
	last := make(map[string]int, len(puts)+len(deletes))
	for i := range puts {
		last[puts[i].Key] = i
	}
	for _, key := range deletes {
		delete(last, key)
	}
	for i, row := range puts {
		if at, kept := last[row.Key]; kept && at == i {
			r.puts = append(r.puts, row)
		}
	}
	r.deletes, r.wakeMs = deletes, alarmMs
	return nil
}

// WriteKV implements store.Rows.
func (r *rows) WriteKV(key string, value []byte) {
	r.kv = append(r.kv, abi.Row{Key: key, Value: value})
}

// changed reports whether a command has changed a row. An object that does not exist has no rows to delete.
func (r *rows) changed() bool {
	if r.sent || r.id != 0 && len(r.unsent.rows) > 0 {
		return true
	}
	for _, value := range r.unsent.rows {
		if value != nil {
			return true
		}
	}
	return false
}

// sendChanges sends the changes of earlier commands, so that a read finds them.
func (r *rows) sendChanges() error {
	if len(r.unsent.rows) == 0 || r.id == 0 {
		return nil
	}
	var batch pgx.Batch
	r.queue(&batch, r.id)
	err := r.conn.SendBatch(r.ctx, &batch).Close()
	r.sent, r.unsent = true, changes{}
	return err
}

func (r *rows) alarm() uint64 {
	if current := r.Alarm(); r.wakeMs == 0 || current != 0 && current <= r.wakeMs {
		return current
	}
	return r.wakeMs
}

// queue adds the statements that write the changes.
func (r *rows) queue(batch *pgx.Batch, id int64) {
	var keys, deletes []string
	var values [][]byte
	for _, key := range slices.Sorted(maps.Keys(r.unsent.rows)) {
		if value := r.unsent.rows[key]; value != nil {
			keys, values = append(keys, key), append(values, value)
		} else {
			deletes = append(deletes, key)
		}
	}
	if len(keys) > 0 {
		batch.Queue(stPut, id, keys, values)
	}
	if id != 0 && len(deletes) > 0 {
		batch.Queue(stDelete, id, deletes)
	}
	for _, row := range r.unsent.kv {
		if len(row.Value) == 0 {
			batch.Queue(stDeleteKV, row.Key)
		} else {
			batch.Queue(stWriteKV, row.Key, row.Value)
		}
	}
}

// notNull returns an empty value for nil, because nil would be NULL.
func notNull(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
