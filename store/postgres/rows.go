package postgres

import (
	"bytes"

	"github.com/jackc/pgx/v5"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// rows implements store.Rows. It holds back the changes until the command has succeeded.
type rows struct {
	*transaction
	puts    []abi.Row // each key once
	deletes []string
	wakeMs  uint64 // the alarm that the command asked for; 0: none
	kv      []abi.Row
	failed  error // error of a read; after it, the transaction has failed, even if the command ignores it
}

// Alarm implements store.Rows. A ringing alarm is no longer set.
func (r *rows) Alarm() uint64 {
	if r.rang {
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
	found, err := r.read(g)
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
			r.puts = append(r.puts, abi.Row{Key: row.Key, Value: bytes.Clone(row.Value)})
		}
	}
	r.deletes, r.wakeMs = deletes, alarmMs
	return nil
}

// WriteKV implements store.Rows.
func (r *rows) WriteKV(key string, value []byte) {
	r.kv = append(r.kv, abi.Row{Key: key, Value: value})
}

func (r *rows) changed() bool { return len(r.puts) > 0 || r.id != 0 && len(r.deletes) > 0 }

func (r *rows) alarm() uint64 {
	if current := r.Alarm(); r.wakeMs == 0 || current != 0 && current <= r.wakeMs {
		return current
	}
	return r.wakeMs
}

// queue adds the statements that write the changes.
func (r *rows) queue(batch *pgx.Batch, id int64) {
	if len(r.puts) > 0 {
		keys, values := make([]string, len(r.puts)), make([][]byte, len(r.puts))
		for i, row := range r.puts {
			keys[i], values[i] = row.Key, notNull(row.Value)
		}
		batch.Queue(stPut, id, keys, values)
	}
	if id != 0 && len(r.deletes) > 0 {
		batch.Queue(stDelete, id, r.deletes)
	}
	for _, row := range r.kv {
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

// follow updates the facts after a commit.
func (r *rows) follow() {
	for _, row := range r.puts {
		r.facts.put(row)
	}
	for _, key := range r.deletes {
		r.facts.delete(key)
	}
}
