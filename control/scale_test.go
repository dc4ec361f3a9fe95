package control_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	largeKeys     = 10_000
	largeProjects = 100
)

// large returns a bench with many projects. The first has many keys: every tenth is a project key, every seventh is
// for development, and every 1,000th is named "Needle".
func large(t *testing.T) (b *controltest.Bench, path string) {
	t.Helper()
	made := makeLarge()
	b = controltest.New(t)
	maps.Copy(b.Memory.Rows, made.rows)
	return b, made.path
}

type largeRows struct {
	rows map[string][]byte
	path string
}

var makeLarge = sync.OnceValue(func() (made largeRows) {
	t := &testing.T{}
	b := controltest.New(t)
	for i := range largeProjects {
		b.Now = b.Now.Add(time.Millisecond)
		id := b.Must(201, "POST", "/api/admin/projects", fmt.Sprintf(`{"name":"Project %d"}`, i)).Text("id")
		if i == 0 {
			made.path = "/api/admin/projects/" + id
		}
	}
	for i := range largeKeys {
		b.Now = b.Now.Add(time.Millisecond)
		b.Must(201, "POST", made.path+"/keys", largeKey(i))
		if i%50 == 0 {
			b.Memory.Forget()
		}
	}
	b.Memory.Forget()
	made.rows = b.Memory.Rows
	return made
})

func largeKey(i int) string {
	name, kind, environment := fmt.Sprint("key ", i), "gateway", "production"
	if i%10 == 3 {
		kind = "project"
	}
	if i%7 == 2 {
		environment = "development"
	}
	if i%1000 == 999 {
		name = fmt.Sprint("Needle ", i)
	}
	return fmt.Sprintf(`{"name":%q,"kind":%q,"environment":%q}`, name, kind, environment)
}

// pages reads all pages of a list and returns the names in order. No page may make more than maxCalls object calls.
func pages(b *controltest.Bench, list, query string, maxCalls int) (names []string, count int) {
	b.Helper()
	path, after := strings.SplitAfter(list, "?")[0], ""
	for {
		b.Memory.Calls = 0
		got := b.Must(200, "GET", path+"?"+query+after, "")
		if b.Memory.Calls > maxCalls {
			b.Fatalf("%s%s makes %d calls to objects, want at most %d", query, after, b.Memory.Calls, maxCalls)
		}
		elements, _ := got.Fields[path[strings.LastIndex(path, "/")+1:]].([]any)
		for _, e := range elements {
			names = append(names, e.(map[string]any)["name"].(string))
		}
		count++
		if got.Fields["next"] == nil || count > 1000 {
			return names, count
		}
		after = "&after=" + got.Text("next")
	}
}

func TestPagesOfManyKeys(t *testing.T) {
	b, path := large(t)
	var all []string
	for i := range largeKeys {
		all = append(all, fmt.Sprint("key ", i))
		if i%1000 == 999 {
			all[i] = fmt.Sprint("Needle ", i)
		}
	}
	some := func(want func(i int) bool) (names []string) {
		for i, name := range all {
			if want(i) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, c := range []struct {
		query string
		want  []string
		pages int // at most
	}{
		{"limit=100", all, 100},
		{"limit=100&status=active", all, 100},
		{"limit=100&kind=project", some(func(i int) bool { return i%10 == 3 }), 11},
		{"limit=100&environment=development&kind=gateway", some(func(i int) bool { return i%7 == 2 && i%10 != 3 }), 13},
		{"limit=7&q=nEEdle", some(func(i int) bool { return i%1000 == 999 }), 3},
		{"q=nowhere&kind=project", nil, 3},
		{"status=expired", nil, 3},
	} {
		// A page makes calls for the project, for the pages of the Directory's list, and for the last uses in the
		// ledger.
		names, pages := pages(b, path+"/keys", c.query, kernel.MaxScanPages+2)
		if !slices.Equal(names, c.want) || pages > c.pages {
			t.Errorf("%s: %d keys on %d pages, want %d on at most %d", c.query, len(names), pages, len(c.want), c.pages)
		}
	}
	if _, pages := pages(b, path+"/keys", "limit=100", 3); pages != 100 {
		t.Errorf("%d pages", pages)
	}
}

// A page that ends with the last match has no "next", with or without a filter.
func TestLastPageHasNoNext(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	for range 4 {
		b.Now = b.Now.Add(time.Millisecond)
		b.Key(path)
	}
	for _, query := range []string{"limit=2", "limit=4", "limit=2&q=k", "limit=4&status=active"} {
		names, pages := pages(b, path+"/keys", query, 4)
		if want := 4 / int(query[len("limit=")]-'0'); len(names) != 4 || pages != want {
			t.Errorf("%s: %d keys on %d pages, want %d", query, len(names), pages, want)
		}
	}
}

// If a key is created or deleted between two pages, no other key is hidden or repeated.
func TestPagesWhileKeysChange(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	var paths []string
	for range 6 {
		b.Now = b.Now.Add(time.Millisecond)
		keyPath, _ := b.Key(path)
		paths = append(paths, keyPath)
	}
	first := b.Must(200, "GET", path+"/keys?limit=3", "")
	b.Must(204, "DELETE", paths[2], "") // the key that "next" refers to
	b.Must(204, "DELETE", paths[0], "")
	b.Now = b.Now.Add(time.Millisecond)
	last, _ := b.Key(path)
	second := b.Must(200, "GET", path+"/keys?limit=100&after="+first.Text("next"), "")
	var ids []string
	for _, k := range second.Fields["keys"].([]any) {
		ids = append(ids, path+"/keys/"+k.(map[string]any)["id"].(string))
	}
	if want := append(slices.Clone(paths[3:]), last); !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

func TestPagesOfManyProjects(t *testing.T) {
	b, _ := large(t)
	var all []string
	for i := range largeProjects {
		all = append(all, fmt.Sprint("Project ", i))
	}
	for query, want := range map[string][]string{
		"limit=7": all, "limit=100": all, "limit=3&q=project%209": append([]string{all[9]}, all[90:]...), "status=archived": nil,
	} {
		if names, _ := pages(b, "/api/admin/projects", query, 1); !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", query, names, want)
		}
	}
}

// A change to a project with many keys is one commit. It is delivered to the first 200 keys before the response, and
// to the others by the Directory's alarm. The alarm's deliveries are the same as direct deliveries, even for keys
// that change in the meantime.
func TestPatchOfManyKeys(t *testing.T) {
	b, path := large(t)
	b.Memory.Calls = 0
	commits := 0
	b.Memory.Before = func(command []byte) {
		if command[0] == 2 {
			commits++
		}
	}
	b.Must(200, "PATCH", path, `{"plan":"team"}`)
	b.Memory.Before = nil
	// The calls read and write the project, deliver the change to its ledger and to 200 keys, and list the keys
	// between two reads of the project.
	if commits != 1 || len(b.Memory.Sent) != 1+kernel.MaxUpdatedKeys || b.Memory.Calls > len(b.Memory.Sent)+5 {
		t.Errorf("%d commits, %d calls, %d of them to the ledger and the meters", commits, b.Memory.Calls, len(b.Memory.Sent))
	}
	got := newDeliveries(t)
	got.take(b.Memory.Sent)
	b.Memory.Deliver(t)

	changed := changeInTheMiddle(b, path)
	for b.Memory.Ring(t) {
		got.take(b.Memory.Sent)
		b.Memory.Sent = nil
	}
	got.take(b.Memory.Sent)
	checkDeliveries(b, path, got, changed)
}

// changeInTheMiddle lets the alarm process some pages of keys. It then changes some keys that have already been
// processed and some that have not.
func changeInTheMiddle(b *controltest.Bench, path string) (changed []string) {
	b.Helper()
	for range 50 { // pages of 50 keys
		b.Memory.Ring(b.T)
	}
	all := b.KeysOf(path)
	for _, i := range []int{1000, 9000} {
		b.Must(200, "POST", path+"/keys/"+all[i].ID+"/deactivate", "")
		b.Must(200, "PATCH", path+"/keys/"+all[i+1].ID, `{"limits":{"requestsPerDay":5}}`)
		changed = append(changed, all[i].ID, all[i+1].ID)
	}
	return changed
}

// deliveries holds the newest delivery to each meter. Its method take checks that no meter gets two different records
// with the same version.
type deliveries struct {
	t        *testing.T
	newest   map[string][]byte
	versions map[string]uint64
	byName   map[string]map[uint64][]byte
}

func newDeliveries(t *testing.T) *deliveries {
	return &deliveries{t, map[string][]byte{}, map[string]uint64{}, map[string]map[uint64][]byte{}}
}

func (o *deliveries) take(calls []controltest.Sent) {
	for _, s := range calls {
		if s.Class != abi.ClassKeyMeter {
			continue
		}
		r := abi.Reader{Buf: s.Command}
		r.Uint()
		r.Uint()
		record, err := doc.DecodeRecord(r.Bytes())
		if err != nil {
			o.t.Fatal(err)
		}
		if o.byName[s.Name] == nil {
			o.byName[s.Name] = map[uint64][]byte{}
		}
		if other := o.byName[s.Name][record.Version]; other != nil && !bytes.Equal(other, s.Command) {
			o.t.Errorf("%s got two deliveries of version %d: %x and %x", s.Name, record.Version, other, s.Command)
		}
		o.byName[s.Name][record.Version] = s.Command
		if record.Version > o.versions[s.Name] {
			o.versions[s.Name], o.newest[s.Name] = record.Version, s.Command
		}
	}
}

// checkDeliveries compares the deliveries to meters and KV with the documents.
func checkDeliveries(b *controltest.Bench, path string, o *deliveries, changed []string) {
	b.Helper()
	p := b.Stored(path)
	all := b.KeysOf(path)
	if len(all) != largeKeys || len(o.newest) != largeKeys {
		b.Fatalf("%d keys, deliveries to %d", len(all), len(o.newest))
	}
	for i := range all {
		k := &all[i]
		put, record := keymeter.Put{}, doc.Record{}
		r := abi.Reader{Buf: o.newest[k.Hash]}
		r.Uint()
		put.Status = doc.Status(r.Uint())
		record, _ = doc.DecodeRecord(r.Bytes())
		want := doc.NewRecord(&k.Key, k.Version, &p.Project, p.Version)
		if put.Status != k.Status || record.Differs(want) || record.Plan != "team" {
			b.Errorf("%s (%s) got %d %+v, want %d %+v", k.ID, k.Name, put.Status, record, k.Status, want)
		}
		if slices.Contains(changed, k.ID) && k.Status == doc.Active && record.Limits.PerDay != 5 {
			b.Errorf("%s lost its change: %+v", k.ID, record)
		}
		if k.Status != doc.Active {
			continue // an inactive key's record in KV may be stale
		}
		published, err := doc.DecodeRecord(b.Memory.Kv[doc.RecordKey(k.Hash)])
		if err != nil || published.Differs(want) || published.Version != record.Version {
			b.Errorf("%s is published as %+v (%v), but its meter has %+v", k.ID, published, err, record)
		}
	}
}
