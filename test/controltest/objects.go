package controltest

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/testobject"
)

type objectName struct {
	class abi.Class
	name  string
}

var reducerConfig = TestCatalog()

// Object returns one of the deployment's objects, which is created at its first use.
func (m *Memory) Object(class abi.Class, name string) *testobject.Object {
	id := objectName{class, name}
	if m.objects == nil {
		m.objects = map[objectName]*testobject.Object{}
	}
	if m.objects[id] == nil {
		m.objects[id] = &testobject.Object{Class: class, Name: name, Reads: reads, Apply: apply}
		if class == abi.ClassDirectory {
			m.objects[id].Rows = m.Rows
		}
	}
	return m.objects[id]
}

// Directory returns the deployment's Directory.
func (m *Memory) Directory() *testobject.Object { return m.Object(abi.ClassDirectory, directory.Name) }

// NowMs returns the bench's time in Unix milliseconds.
func (m *Memory) NowMs() uint64 { return uint64(m.now().UnixMilli()) }

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

// Ring runs the Directory's alarm, if it is set, and performs the pending deliveries.
func (m *Memory) Ring(t *testing.T) (rang bool) {
	t.Helper()
	rang, err := m.Directory().Ring(m.Directory().AlarmMs)
	if err != nil {
		t.Fatal(err)
	}
	m.Deliver(t)
	return rang
}

// Deliver performs the deliveries in the Directory's outbox, to KV and to objects, and empties it.
func (m *Memory) Deliver(t *testing.T) {
	t.Helper()
	rows, deliveries, err := m.Directory().Outbox()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range deliveries {
		if d.Class == abi.ClassKV {
			m.putKV(d.Name, d.Data)
		} else if _, err := m.Call(t.Context(), d.Class, d.Name, d.Region, d.Data); err != nil {
			t.Fatal(err)
		}
		m.Directory().Delete(rows[i])
	}
}

func (m *Memory) putKV(name string, data []byte) {
	if m.Kv == nil {
		m.Kv = map[string][]byte{}
	}
	m.Kv[name] = data
	if len(data) == 0 {
		delete(m.Kv, name)
	}
}
