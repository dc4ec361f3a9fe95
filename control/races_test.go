package control_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func TestConcurrentPatchesAndKeysAreKept(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	b.Interleave(func() {
		b.Must(200, "PATCH", path, `{"budget":42}`)
		b.Must(201, "POST", path+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	})
	got := b.Must(200, "PATCH", path, `{"plan":"team"}`)
	if !strings.Contains(got.Body.String(), `"budget":42,`) || got.Text("plan") != "team" {
		t.Error(got.Body)
	}
	for _, s := range b.Memory.Sent {
		if s.Class == abi.ClassKeyMeter {
			if _, record := b.MeterView(s.Name); record.Plan != "team" {
				t.Errorf("the new key has the old plan: %+v", record)
			}
		}
	}
}

// Every commit must write the project. If one did not, a deactivation and a concurrent PATCH would give the meter the
// same version twice.
func TestConcurrentDeactivationAndPatch(t *testing.T) {
	for _, patchFirst := range []bool{true, false} {
		b := controltest.New(t)
		path := b.Project()
		keyPath, _ := b.Key(path)
		deactivate := func() { b.Must(200, "POST", keyPath+"/deactivate", "") }
		patch := func() { b.Must(200, "PATCH", path, `{"plan":"team"}`) }
		first, second := deactivate, patch
		if patchFirst {
			first, second = patch, deactivate
		}
		b.Interleave(first)
		second()
		for _, s := range b.Memory.Sent {
			if s.Class != abi.ClassKeyMeter {
				continue
			}
			if status, record := b.MeterView(s.Name); status != doc.Inactive || record.Plan != "team" {
				t.Errorf("patch first %v: status %d, %+v", patchFirst, status, record)
			}
		}
	}
}

func TestReactivationLosesToDelete(t *testing.T) {
	b := controltest.New(t)
	keyPath, _ := b.Key(b.Project())
	b.Interleave(func() { b.Must(204, "DELETE", keyPath, "") })
	b.Refused(b.Do("POST", keyPath+"/reactivate", ""), fault.NotFound)
}

func TestPersistentConflictIs409(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	inside := false
	b.Memory.Before = func(command []byte) {
		if command[0] == 2 && !inside {
			inside = true
			b.Must(200, "PATCH", path, `{}`)
			inside = false
		}
	}
	b.Refused(b.Do("PATCH", path, `{"name":"mine"}`), fault.Conflict)
}

// With concurrent operators, every acknowledged change exists, and every version was assigned once.
func TestConcurrentOperators(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		made = map[string]bool{}
	)
	for i := range 40 {
		all.Go(func() {
			got := b.Do("POST", path+"/keys", fmt.Sprintf(`{"name":"k%d","kind":"gateway","environment":"production"}`, i))
			mu.Lock()
			defer mu.Unlock()
			switch got.Code {
			case 201:
				made[got.Text("id")] = true
			case 409:
			default:
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Wait()
	got := b.Must(200, "GET", path+"/keys?limit=100", "")
	listed := got.Fields["keys"].([]any)
	if len(listed) != len(made) {
		t.Errorf("%d acknowledged, %d listed", len(made), len(listed))
	}
	p := b.Stored(path)
	if p.Version != uint64(len(made)+1) || p.KeyCount != uint64(len(made)) {
		t.Errorf("version %d after %d keys", p.Version, len(made))
	}
	// The version in the API counts only changes to the project itself.
	if version := b.Must(200, "GET", path, "").Fields["version"]; fmt.Sprint(version) != "1" {
		t.Errorf("version %v", version)
	}
}
