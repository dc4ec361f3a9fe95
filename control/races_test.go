package control

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// interleave runs other once, just before the next commit.
func (b *bench) interleave(other func()) {
	ran := false
	b.memory.before = func(command []byte) {
		if command[0] == 2 && !ran { // a commit
			ran = true
			other()
		}
	}
}

// meterView is the state of a key's meter, which drops all deliveries without a newer version.
func (b *bench) meterView(hash string) (status doc.Status, record doc.Record) {
	for _, s := range b.memory.sent {
		if s.class != abi.ClassKeyMeter || s.name != hash || bytes.Equal(s.command, recallCommand.Encode()) {
			continue
		}
		r := abi.Reader{Buf: s.command}
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

func TestConcurrentPatchesAndKeysAreKept(t *testing.T) {
	b := newBench(t)
	path := b.project()
	b.interleave(func() {
		b.must(200, "PATCH", path, `{"budget":42}`)
		b.must(201, "POST", path+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	})
	got := b.must(200, "PATCH", path, `{"plan":"team"}`)
	if !strings.Contains(got.Body.String(), `"budget":42,`) || got.text("plan") != "team" {
		t.Error(got.Body)
	}
	for _, s := range b.memory.sent {
		if s.class == abi.ClassKeyMeter {
			if _, record := b.meterView(s.name); record.Plan != "team" {
				t.Errorf("the new key has the old plan: %+v", record)
			}
		}
	}
}

// If commits did not all write the project, these two would give the meter the same version twice.
func TestConcurrentDeactivationAndPatch(t *testing.T) {
	for _, patchFirst := range []bool{true, false} {
		b := newBench(t)
		path := b.project()
		keyPath, _ := b.key(path)
		deactivate := func() { b.must(200, "POST", keyPath+"/deactivate", "") }
		patch := func() { b.must(200, "PATCH", path, `{"plan":"team"}`) }
		first, second := deactivate, patch
		if patchFirst {
			first, second = patch, deactivate
		}
		b.interleave(first)
		second()
		for _, s := range b.memory.sent {
			if s.class != abi.ClassKeyMeter {
				continue
			}
			if status, record := b.meterView(s.name); status != doc.Inactive || record.Plan != "team" {
				t.Errorf("patch first %v: status %d, %+v", patchFirst, status, record)
			}
		}
	}
}

func TestReactivationLosesToDelete(t *testing.T) {
	b := newBench(t)
	keyPath, _ := b.key(b.project())
	b.interleave(func() { b.must(204, "DELETE", keyPath, "") })
	b.refused(b.do("POST", keyPath+"/reactivate", ""), fault.NotFound)
}

func TestPersistentConflictIs409(t *testing.T) {
	b := newBench(t)
	path := b.project()
	inside := false
	b.memory.before = func(command []byte) {
		if command[0] == 2 && !inside {
			inside = true
			b.must(200, "PATCH", path, `{}`)
			inside = false
		}
	}
	b.refused(b.do("PATCH", path, `{"name":"mine"}`), fault.Conflict)
}

// Concurrent operators: every acknowledged change exists, and every version was assigned once.
func TestConcurrentOperators(t *testing.T) {
	b := newBench(t)
	path := b.project()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		made = map[string]bool{}
	)
	for i := range 40 {
		all.Go(func() {
			got := b.do("POST", path+"/keys", fmt.Sprintf(`{"name":"k%d","kind":"gateway","environment":"production"}`, i))
			mu.Lock()
			defer mu.Unlock()
			switch got.Code {
			case 201:
				made[got.text("id")] = true
			case 409:
			default:
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Wait()
	got := b.must(200, "GET", path+"/keys?limit=100", "")
	listed := got.fields["keys"].([]any)
	if len(listed) != len(made) {
		t.Errorf("%d acknowledged, %d listed", len(made), len(listed))
	}
	p, err := b.handler.(*handler).store.project(t.Context(), strings.TrimPrefix(path, "/api/admin/projects/"))
	if err != nil || p.Version != uint64(len(made)+1) || p.KeyCount != uint64(len(made)) {
		t.Errorf("%v, version %d after %d keys", err, p.Version, len(made))
	}
	// The version in the API counts only changes of the project itself.
	if version := b.must(200, "GET", path, "").fields["version"]; fmt.Sprint(version) != "1" {
		t.Errorf("version %v", version)
	}
}
