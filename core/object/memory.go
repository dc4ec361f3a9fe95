package object

import (
	"bytes"
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// Memory implements Rows in memory. Its zero value is an object without rows.
type Memory struct {
	Rows    map[string][]byte // tests may change it directly; if the keys change, their number must change too (see sort)
	AlarmMs uint64            // 0: no alarm
	order   []string          // the keys of Rows, sorted
}

// Read returns the rows in a range. It never fails. The values must not be changed.
func (m *Memory) Read(g abi.Range) ([]abi.Row, error) {
	if g.End == "" {
		if value, ok := m.Rows[g.Start]; ok {
			return []abi.Row{{Key: g.Start, Value: value}}, nil
		}
		return nil, nil
	}
	var rows []abi.Row
	for _, key := range m.Keys(g.Start, g.End) {
		if uint64(len(rows)) == g.Limit {
			break
		}
		rows = append(rows, abi.Row{Key: key, Value: m.Rows[key]})
	}
	return rows, nil
}

// Commit copies the values, which may share memory with a message. It never fails.
func (m *Memory) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	for _, row := range puts {
		m.put(row)
	}
	for _, key := range deletes {
		m.delete(key)
	}
	if alarmMs != 0 && (m.AlarmMs == 0 || alarmMs < m.AlarmMs) {
		m.AlarmMs = alarmMs
	}
	return nil
}

// Keys returns the sorted keys of the rows from start up to, but not including, end. The result is valid until the
// next Commit.
func (m *Memory) Keys(start, end string) []string {
	m.sort()
	first, _ := slices.BinarySearch(m.order, start)
	last, _ := slices.BinarySearch(m.order, end)
	return m.order[first:max(first, last)]
}

func (m *Memory) put(row abi.Row) {
	m.sort()
	if m.Rows == nil {
		m.Rows = map[string][]byte{}
	}
	if at, found := slices.BinarySearch(m.order, row.Key); !found {
		m.order = slices.Insert(m.order, at, row.Key)
	}
	m.Rows[row.Key] = bytes.Clone(row.Value)
}

func (m *Memory) delete(key string) {
	m.sort()
	if at, found := slices.BinarySearch(m.order, key); found {
		m.order = slices.Delete(m.order, at, at+1)
	}
	delete(m.Rows, key)
}

// sort rebuilds the order if Rows was changed directly. It detects this from the number of rows.
func (m *Memory) sort() {
	if len(m.order) == len(m.Rows) {
		return
	}
	m.order = m.order[:0]
	for key := range m.Rows {
		m.order = append(m.order, key)
	}
	slices.Sort(m.order)
}
