package controltest

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

// KeyBench is a bench with reducers and a project.
type KeyBench struct {
	*Bench
	Project string // its path
}

// NewKeyBench returns a bench with reducers and a project.
func NewKeyBench(t *testing.T) *KeyBench {
	b := &KeyBench{Bench: New(t)}
	b.Memory.Reducers = true
	b.Project = b.Bench.Project()
	return b
}

// NewKey creates a key from the fields of a request, and returns its path and value.
func (b *KeyBench) NewKey(fields string) (path, value string) {
	b.Helper()
	made := b.Must(201, "POST", b.Project+"/keys", `{"name":"k",`+fields+`}`)
	return b.Project + "/keys/" + made.Text("id"), made.Text("value")
}

// With sends a request with an API key. If value is "", it sends none.
func (b *KeyBench) With(value, method, path, body string, headers ...string) Reply {
	b.Helper()
	return b.Do(method, path, body, append([]string{"Authorization", "", "X-API-Key", value}, headers...)...)
}

// MeterCalls counts the calls to meters.
func (b *KeyBench) MeterCalls() (n int) {
	for _, s := range b.Memory.Sent {
		if s.Class == abi.ClassKeyMeter {
			n++
		}
	}
	return n
}

// Interleave runs other just before the next commit.
func (b *Bench) Interleave(other func()) {
	ran := false
	b.Memory.Before = func(command []byte) {
		if command[0] == 2 && !ran { // a commit
			ran = true
			other()
		}
	}
}

var putCommand keymeter.Put

// MeterView returns the state that the recorded calls give a key's meter. Like the meter, it ignores calls whose
// version is not newer.
func (b *Bench) MeterView(hash string) (status doc.Status, record doc.Record) {
	for _, s := range b.Memory.Sent {
		if s.Class != abi.ClassKeyMeter || s.Name != hash || s.Command[0] != putCommand.Encode()[0] {
			continue
		}
		r := abi.Reader{Buf: s.Command}
		r.Uint()
		put := doc.Status(r.Uint())
		next, err := doc.DecodeRecord(r.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		if next.Version > record.Version {
			status, record = put, next
		}
	}
	return status, record
}

// RecordOf returns the record of a new key, as its meter has it.
func (b *Bench) RecordOf(made Reply) doc.Record {
	_, record := b.MeterView(keys.Hash(made.Text("value")))
	return record
}

// KeysOf returns the documents of a project's keys.
func (b *Bench) KeysOf(path string) []directory.Key {
	b.Helper()
	var all []directory.Key
	prefix := "d/" + doc.KeysOf(strings.TrimPrefix(path, "/api/admin/projects/"))
	for _, row := range b.Memory.Directory().Read(abi.Range{Start: prefix, End: prefix + "\x7f", Limit: 1 << 20}) {
		r := abi.Reader{Buf: row.Value}
		k, err := directory.DecodeKey(directory.Document{Version: r.Uint(), Value: r.Bytes()})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}
