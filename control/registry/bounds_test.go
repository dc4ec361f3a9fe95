package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/registry"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// Entries, keys and the project are changed concurrently. The policy then has all acknowledged changes of entries,
// sorted by name.
func TestConcurrentRegistrations(t *testing.T) {
	b := newRegistryBench(t)
	var models []string
	for _, m := range controltest.TestCatalog().Models[:20] {
		models = append(models, m.Name)
	}
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		made []string
	)
	for _, model := range slices.Concat(models, models) {
		all.Go(func() {
			got := b.Do("POST", b.registry, `{"model":"`+model+`"}`)
			mu.Lock()
			defer mu.Unlock()
			if got.Code == 201 {
				made = append(made, model)
			} else if got.Code != 409 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Go(func() { b.Do("PATCH", b.project, `{"models":["gpt-4.1"]}`) })
	all.Wait()
	slices.Sort(made)
	if len(slices.Compact(slices.Clone(made))) != len(made) || len(made) < 10 {
		t.Errorf("%d made: %v", len(made), made)
	}
	var have []string
	for _, m := range b.policy().Registry {
		have = append(have, m.Model)
	}
	if !slices.Equal(have, made) {
		t.Errorf("policy has %v, acknowledged %v", have, made)
	}
	list, _ := b.entries("?limit=100")
	if len(list) != len(made) {
		t.Errorf("listed: %v", list)
	}
}

// An acknowledged transition has reached the meters of up to 200 keys. With more keys, the list shows the transition
// as pending until all of them have it.
func TestRegistryDelivery(t *testing.T) {
	for _, n := range []int{kernel.MaxUpdatedKeys, kernel.MaxUpdatedKeys + 1} {
		b := newRegistryBench(t)
		path := b.add("gpt-4.1")
		var hashes []string
		for range n {
			b.Now = b.Now.Add(time.Millisecond)
			b.Key(b.project)
		}
		for _, k := range b.KeysOf(b.project) {
			hashes = append(hashes, k.Hash)
		}
		b.Memory.Deliver(t)
		for b.Memory.Ring(t) {
		}
		b.Memory.Forget()
		got := b.move(path, "blocked")
		version := b.policy().Version
		have := 0
		for _, hash := range hashes {
			if _, record := b.MeterView(hash); record.Policy == version {
				have++
			}
		}
		want := registry.Delivered
		if n > kernel.MaxUpdatedKeys {
			want = registry.Pending
		}
		if got.Text("delivery") != want || have != kernel.MaxUpdatedKeys {
			t.Errorf("%d keys: %s, %d meters have it", n, got.Text("delivery"), have)
		}
		if _, list := b.entries(""); list.Text("delivery") != registry.Pending {
			t.Errorf("%d keys: the list says %s before the Directory's own deliveries", n, list.Text("delivery"))
		}
		for b.Memory.Ring(t) {
		}
		if _, list := b.entries(""); list.Text("delivery") != registry.Delivered {
			t.Errorf("%d keys: the list says %s after the Directory's deliveries", n, list.Text("delivery"))
		}
		for _, hash := range hashes {
			if _, record := b.MeterView(hash); record.Policy != version {
				t.Fatalf("%d keys: a meter has policy %d, want %d", n, record.Policy, version)
			}
		}
	}
}

// If a meter fails, the change is not acknowledged, although it has been committed.
func TestRegistryIsAcknowledgedAfterDelivery(t *testing.T) {
	b := newRegistryBench(t)
	controltest.Quiet(t)
	path := b.add("gpt-4.1", "approved", "deprecated")
	b.Key(b.project)
	b.Memory.FailAll(abi.ClassKeyMeter)
	b.Refused(b.Do("POST", path+"/transitions", `{"to":"retired"}`), fault.Unavailable)
	b.Memory.Fail = nil
	if _, list := b.entries(""); list.Text("delivery") != registry.Pending {
		t.Error(list.Body)
	}
	for b.Memory.Ring(t) {
	}
	if _, list := b.entries("?state=retired"); list.Text("delivery") != registry.Delivered || len(list.Fields["models"].([]any)) != 1 {
		t.Error(list.Body)
	}
}

// manyModels returns a catalog overlay with models that only these tests use.
func manyModels(n int) string {
	var models []string
	for i := range n {
		models = append(models, fmt.Sprintf(`{"name":"made-up-%04d","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}`, i))
	}
	return `{"models":[` + strings.Join(models, ",") + `]}`
}

// withCatalog replaces the bench's catalog.
func (b *registryBench) withCatalog(overlay string) {
	b.Configure(func(c *kernel.Config) { c.Catalog = controltest.ParseCatalog(overlay) })
}

func TestRegistryIsFull(t *testing.T) {
	b := newRegistryBench(t)
	b.withCatalog(manyModels(registry.MaxEntries + 1))
	for i := range registry.MaxEntries {
		b.add(fmt.Sprintf("made-up-%04d", i))
		b.Memory.Forget()
	}
	got := b.Do("POST", b.registry, fmt.Sprintf(`{"model":"made-up-%04d"}`, registry.MaxEntries))
	b.Refused(got, fault.InvalidRequest)
	if !strings.Contains(got.Body.String(), "500 entries, the maximum") {
		t.Error(got.Body)
	}
	b.Memory.Calls = 0
	list, page := b.entries("?limit=100&after=" + inventory.EntryID("made-up-0398"))
	if len(list) != 100 || page.Fields["next"] == nil && len(list) != 101 || b.Memory.Calls > 9 {
		t.Errorf("%d entries with %d calls", len(list), b.Memory.Calls)
	}
	// An existing entry can still be changed.
	b.Must(200, "POST", b.registry+"/"+inventory.EntryID("made-up-0001")+"/transitions", `{"to":"blocked","reason":"r"}`)
}

// The size of the enforced part of a registry is limited. Blocking a model is always accepted, and so are changes
// that make the part smaller.
func TestRegistryIsTooLarge(t *testing.T) {
	b := newRegistryBench(t)
	b.withCatalog(manyModels(80))
	var ids []string
	for range registry.MaxEntryTexts {
		b.Now = b.Now.Add(time.Millisecond)
		_, made := b.Key(b.project)
		ids = append(ids, made.Text("id"))
	}
	body := `{"to":"restricted","reason":"r","keys":["` + strings.Join(ids, `","`) + `"]}`
	var got controltest.Reply
	n := 0
	for ; n < 80; n++ {
		path := b.add(fmt.Sprintf("made-up-%04d", n))
		b.Memory.Forget()
		if got = b.Do("POST", path+"/transitions", body); got.Code != 200 {
			break
		}
	}
	b.Refused(got, fault.InvalidRequest)
	if n < 40 || !strings.Contains(got.Body.String(), "the maximum is 65536") {
		t.Errorf("after %d models: %s", n, got.Body)
	}
	blocked := b.registry + "/" + inventory.EntryID(fmt.Sprintf("made-up-%04d", n)) + "/transitions"
	b.Must(200, "POST", blocked, `{"to":"blocked","reason":"r","successor":"gpt-5.4"}`)
	b.Must(200, "PATCH", b.registry+"/"+inventory.EntryID("made-up-0000"), `{"owner":"x"}`)
	b.Must(200, "POST", b.registry+"/"+inventory.EntryID("made-up-0000")+"/transitions", `{"to":"approved","reason":"r"}`)
}
