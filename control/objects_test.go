package control

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/internal/testobject"
)

type objectName struct {
	class abi.Class
	name  string
}

var reducerConfig = testCatalog()

// object is one of the deployment's objects, created at its first use.
func (m *memory) object(class abi.Class, name string) *testobject.Object {
	id := objectName{class, name}
	if m.objects == nil {
		m.objects = map[objectName]*testobject.Object{}
	}
	if m.objects[id] == nil {
		m.objects[id] = &testobject.Object{Class: class, Name: name, Reads: reads, Apply: apply}
		if class == abi.ClassDirectory {
			m.objects[id].Rows = m.rows
		}
	}
	return m.objects[id]
}

func (m *memory) directory() *testobject.Object { return m.object(abi.ClassDirectory, directory.Name) }

func (m *memory) nowMs() uint64 { return uint64(m.now().UnixMilli()) }

func reads(in *abi.ObjectInput) ([]abi.Range, error) {
	switch in.Class {
	case abi.ClassLedger:
		return ledger.Reads(in)
	case abi.ClassKeyMeter:
		return keymeter.Reads(in)
	}
	return directory.Reads(in.Command)
}

func apply(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	switch in.Class {
	case abi.ClassLedger:
		return ledger.Apply(in)
	case abi.ClassKeyMeter:
		return keymeter.Apply(reducerConfig, in)
	}
	return directory.Apply(in)
}

// ring rings the Directory's alarm, if it is set, and makes the pending deliveries.
func (m *memory) ring(t *testing.T) (rang bool) {
	t.Helper()
	rang, err := m.directory().Ring(m.directory().AlarmMs)
	if err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	return rang
}

// deliver makes the deliveries in the Directory's outbox, to KV and to objects, and empties it.
func (m *memory) deliver(t *testing.T) {
	t.Helper()
	rows, deliveries, err := m.directory().Outbox()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range deliveries {
		if d.Class == abi.ClassKV {
			m.putKV(d.Name, d.Data)
		} else if _, err := m.Call(t.Context(), d.Class, d.Name, d.Region, d.Data); err != nil {
			t.Fatal(err)
		}
		m.directory().Delete(rows[i])
	}
}

func (m *memory) putKV(name string, data []byte) {
	if m.kv == nil {
		m.kv = map[string][]byte{}
	}
	m.kv[name] = data
	if len(data) == 0 {
		delete(m.kv, name)
	}
}
