package control

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

// Concurrent changes of entries, keys and the project: every acknowledged one is in the policy, in order of names.
func TestConcurrentRegistrations(t *testing.T) {
	b := newRegistryBench(t)
	var models []string
	for _, m := range testCatalog().Models[:20] {
		models = append(models, m.Name)
	}
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		made []string
	)
	for _, model := range slices.Concat(models, models) {
		all.Go(func() {
			got := b.do("POST", b.registry, `{"model":"`+model+`"}`)
			mu.Lock()
			defer mu.Unlock()
			if got.Code == 201 {
				made = append(made, model)
			} else if got.Code != 409 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Go(func() { b.do("PATCH", b.project, `{"models":["gpt-4.1"]}`) })
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

// An acknowledged transition is at the meters of 200 keys. With one more key it is pending until the Directory has
// delivered to all of them, which the list shows.
func TestRegistryDelivery(t *testing.T) {
	for _, n := range []int{maxUpdatedKeys, maxUpdatedKeys + 1} {
		b := newRegistryBench(t)
		path := b.add("gpt-4.1")
		var hashes []string
		for range n {
			b.now = b.now.Add(time.Millisecond)
			b.key(b.project)
		}
		for _, k := range b.keysOf(b.project) {
			hashes = append(hashes, k.Hash)
		}
		b.memory.deliver(t)
		for b.memory.ring(t) {
		}
		b.memory.forget()
		got := b.move(path, "blocked")
		version := b.policy().Version
		have := 0
		for _, hash := range hashes {
			if _, record := b.meterView(hash); record.Policy == version {
				have++
			}
		}
		want := delivered
		if n > maxUpdatedKeys {
			want = pending
		}
		if got.text("delivery") != want || have != maxUpdatedKeys {
			t.Errorf("%d keys: %s, %d meters have it", n, got.text("delivery"), have)
		}
		if _, list := b.entries(""); list.text("delivery") != pending {
			t.Errorf("%d keys: the list says %s before the Directory's own deliveries", n, list.text("delivery"))
		}
		for b.memory.ring(t) {
		}
		if _, list := b.entries(""); list.text("delivery") != delivered {
			t.Errorf("%d keys: the list says %s after the Directory's deliveries", n, list.text("delivery"))
		}
		for _, hash := range hashes {
			if _, record := b.meterView(hash); record.Policy != version {
				t.Fatalf("%d keys: a meter has policy %d, want %d", n, record.Policy, version)
			}
		}
	}
}

// If a meter fails, the change is not acknowledged, although it is committed.
func TestRegistryIsAcknowledgedAfterDelivery(t *testing.T) {
	b := newRegistryBench(t)
	quiet(t)
	path := b.add("gpt-4.1", "approved", "deprecated")
	b.key(b.project)
	b.memory.failAll(abi.ClassKeyMeter)
	b.refused(b.do("POST", path+"/transitions", `{"to":"retired"}`), fault.Unavailable)
	b.memory.fail = nil
	if _, list := b.entries(""); list.text("delivery") != pending {
		t.Error(list.Body)
	}
	for b.memory.ring(t) {
	}
	if _, list := b.entries("?state=retired"); list.text("delivery") != delivered || len(list.fields["models"].([]any)) != 1 {
		t.Error(list.Body)
	}
}

// manyModels is a catalog overlay with models that are not used otherwise.
func manyModels(n int) string {
	var models []string
	for i := range n {
		models = append(models, fmt.Sprintf(`{"name":"made-up-%04d","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}`, i))
	}
	return `{"models":[` + strings.Join(models, ",") + `]}`
}

// withCatalog replaces the bench's catalog.
func (b *registryBench) withCatalog(overlay string) {
	b.handler.(*handler).Catalog = parseCatalog(overlay)
}

func TestRegistryIsFull(t *testing.T) {
	b := newRegistryBench(t)
	b.withCatalog(manyModels(maxEntries + 1))
	for i := range maxEntries {
		b.add(fmt.Sprintf("made-up-%04d", i))
		b.memory.forget()
	}
	got := b.do("POST", b.registry, fmt.Sprintf(`{"model":"made-up-%04d"}`, maxEntries))
	b.refused(got, fault.InvalidRequest)
	if !strings.Contains(got.Body.String(), "500 entries, the maximum") {
		t.Error(got.Body)
	}
	b.memory.calls = 0
	list, page := b.entries("?limit=100&after=" + entryID("made-up-0398"))
	if len(list) != 100 || page.fields["next"] == nil && len(list) != 101 || b.memory.calls > 9 {
		t.Errorf("%d entries with %d calls", len(list), b.memory.calls)
	}
	// An existing entry can still change.
	b.must(200, "POST", b.registry+"/"+entryID("made-up-0001")+"/transitions", `{"to":"blocked","reason":"r"}`)
}

// The enforced part is bounded; blocking and what makes it smaller are always accepted.
func TestRegistryIsTooLarge(t *testing.T) {
	b := newRegistryBench(t)
	b.withCatalog(manyModels(80))
	var ids []string
	for range maxEntryTexts {
		b.now = b.now.Add(time.Millisecond)
		_, made := b.key(b.project)
		ids = append(ids, made.text("id"))
	}
	body := `{"to":"restricted","reason":"r","keys":["` + strings.Join(ids, `","`) + `"]}`
	var got reply
	n := 0
	for ; n < 80; n++ {
		path := b.add(fmt.Sprintf("made-up-%04d", n))
		b.memory.forget()
		if got = b.do("POST", path+"/transitions", body); got.Code != 200 {
			break
		}
	}
	b.refused(got, fault.InvalidRequest)
	if n < 40 || !strings.Contains(got.Body.String(), "the maximum is 65536") {
		t.Errorf("after %d models: %s", n, got.Body)
	}
	blocked := b.registry + "/" + entryID(fmt.Sprintf("made-up-%04d", n)) + "/transitions"
	b.must(200, "POST", blocked, `{"to":"blocked","reason":"r","successor":"gpt-5.4"}`)
	b.must(200, "PATCH", b.registry+"/"+entryID("made-up-0000"), `{"owner":"x"}`)
	b.must(200, "POST", b.registry+"/"+entryID("made-up-0000")+"/transitions", `{"to":"approved","reason":"r"}`)
}
