package control

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

const (
	largeKeys     = 10_000
	largeProjects = 100
)

// large is a bench with many projects. The first has many keys: every tenth is a project key, every seventh
// is for development, and every 1,000th is named "Needle".
func large(t *testing.T) (b *bench, path string) {
	t.Helper()
	made := makeLarge()
	b = newBench(t)
	maps.Copy(b.memory.rows, made.rows)
	return b, made.path
}

type largeRows struct {
	rows map[string][]byte
	path string
}

var makeLarge = sync.OnceValue(func() (made largeRows) {
	t := &testing.T{}
	b := newBench(t)
	for i := range largeProjects {
		b.now = b.now.Add(time.Millisecond)
		id := b.must(201, "POST", "/api/admin/projects", fmt.Sprintf(`{"name":"Project %d"}`, i)).text("id")
		if i == 0 {
			made.path = "/api/admin/projects/" + id
		}
	}
	for i := range largeKeys {
		b.now = b.now.Add(time.Millisecond)
		b.must(201, "POST", made.path+"/keys", largeKey(i))
		if i%50 == 0 {
			b.memory.forget()
		}
	}
	b.memory.forget()
	made.rows = b.memory.rows
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

// pages reads all pages of a list and returns the names in it, in order. No page may make more than
// maxCalls calls to objects.
func (b *bench) pages(list, query string, maxCalls int) (names []string, count int) {
	b.Helper()
	path, after := strings.SplitAfter(list, "?")[0], ""
	for {
		b.memory.calls = 0
		got := b.must(200, "GET", path+"?"+query+after, "")
		if b.memory.calls > maxCalls {
			b.Fatalf("%s%s makes %d calls to objects, want at most %d", query, after, b.memory.calls, maxCalls)
		}
		elements, _ := got.fields[path[strings.LastIndex(path, "/")+1:]].([]any)
		for _, e := range elements {
			names = append(names, e.(map[string]any)["name"].(string))
		}
		count++
		if got.fields["next"] == nil || count > 1000 {
			return names, count
		}
		after = "&after=" + got.text("next")
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
		pages int // maximum
	}{
		{"limit=100", all, 100},
		{"limit=100&status=active", all, 100},
		{"limit=100&kind=project", some(func(i int) bool { return i%10 == 3 }), 11},
		{"limit=100&environment=development&kind=gateway", some(func(i int) bool { return i%7 == 2 && i%10 != 3 }), 13},
		{"limit=7&q=nEEdle", some(func(i int) bool { return i%1000 == 999 }), 3},
		{"q=nowhere&kind=project", nil, 3},
		{"status=expired", nil, 3},
	} {
		// The project, the pages of the Directory's list, and the ledger's last uses.
		names, pages := b.pages(path+"/keys", c.query, maxScanPages+2)
		if !slices.Equal(names, c.want) || pages > c.pages {
			t.Errorf("%s: %d keys on %d pages, want %d on at most %d", c.query, len(names), pages, len(c.want), c.pages)
		}
	}
	if _, pages := b.pages(path+"/keys", "limit=100", 3); pages != 100 {
		t.Errorf("%d pages", pages)
	}
}

// A page that ends with the last match has no next, with or without a filter.
func TestLastPageHasNoNext(t *testing.T) {
	b := newBench(t)
	path := b.project()
	for range 4 {
		b.now = b.now.Add(time.Millisecond)
		b.key(path)
	}
	for _, query := range []string{"limit=2", "limit=4", "limit=2&q=k", "limit=4&status=active"} {
		names, pages := b.pages(path+"/keys", query, 4)
		if want := 4 / int(query[len("limit=")]-'0'); len(names) != 4 || pages != want {
			t.Errorf("%s: %d keys on %d pages, want %d", query, len(names), pages, want)
		}
	}
}

// A key created or deleted between two pages does not hide or repeat another.
func TestPagesWhileKeysChange(t *testing.T) {
	b := newBench(t)
	path := b.project()
	var paths []string
	for range 6 {
		b.now = b.now.Add(time.Millisecond)
		keyPath, _ := b.key(path)
		paths = append(paths, keyPath)
	}
	first := b.must(200, "GET", path+"/keys?limit=3", "")
	b.must(204, "DELETE", paths[2], "") // the key that next refers to
	b.must(204, "DELETE", paths[0], "")
	b.now = b.now.Add(time.Millisecond)
	last, _ := b.key(path)
	second := b.must(200, "GET", path+"/keys?limit=100&after="+first.text("next"), "")
	var ids []string
	for _, k := range second.fields["keys"].([]any) {
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
		if names, _ := b.pages("/api/admin/projects", query, 1); !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", query, names, want)
		}
	}
}

// A change of a project with many keys is one commit. It delivers to the first 200 keys before the response,
// and to the others by the Directory's alarm. Every delivery equals a direct one, also for keys that change
// meanwhile.
func TestPatchOfManyKeys(t *testing.T) {
	b, path := large(t)
	b.memory.calls = 0
	commits := 0
	b.memory.before = func(command []byte) {
		if command[0] == 2 {
			commits++
		}
	}
	b.must(200, "PATCH", path, `{"plan":"team"}`)
	b.memory.before = nil
	// Calls: read and write the project, its ledger, 200 keys, and list the keys between two reads of the
	// project.
	if commits != 1 || len(b.memory.sent) != 1+maxUpdatedKeys || b.memory.calls > len(b.memory.sent)+5 {
		t.Errorf("%d commits, %d calls, %d of them to the ledger and the meters", commits, b.memory.calls, len(b.memory.sent))
	}
	got := newDeliveries(t)
	got.take(b.memory.sent)
	b.memory.deliver(t)

	changed := b.changeInTheMiddle(path)
	for b.memory.ring(t) {
		got.take(b.memory.sent)
		b.memory.sent = nil
	}
	got.take(b.memory.sent)
	b.checkDeliveries(path, got, changed)
}

// changeInTheMiddle processes some pages of keys, and then changes keys that were already processed and keys
// that were not.
func (b *bench) changeInTheMiddle(path string) (changed []string) {
	b.Helper()
	for range 50 { // pages of 50 keys
		b.memory.ring(b.T)
	}
	all := b.keysOf(path)
	for _, i := range []int{1000, 9000} {
		b.must(200, "POST", path+"/keys/"+all[i].ID+"/deactivate", "")
		b.must(200, "PATCH", path+"/keys/"+all[i+1].ID, `{"limits":{"requestsPerDay":5}}`)
		changed = append(changed, all[i].ID, all[i+1].ID)
	}
	return changed
}

func (b *bench) keysOf(path string) []key {
	b.Helper()
	var all []key
	prefix := "d/" + doc.KeysOf(strings.TrimPrefix(path, "/api/admin/projects/"))
	for _, row := range b.memory.directory().Read(abi.Range{Start: prefix, End: prefix + "\x7f", Limit: 1 << 20}) {
		r := abi.Reader{Buf: row.Value}
		k, err := directory.DecodeKey(directory.Document{Version: r.Uint(), Value: r.Bytes()})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// deliveries are the newest delivery of each meter. take checks that no meter gets two records of one
// version.
type deliveries struct {
	t        *testing.T
	newest   map[string][]byte
	versions map[string]uint64
	byName   map[string]map[uint64][]byte
}

func newDeliveries(t *testing.T) *deliveries {
	return &deliveries{t, map[string][]byte{}, map[string]uint64{}, map[string]map[uint64][]byte{}}
}

func (o *deliveries) take(calls []sent) {
	for _, s := range calls {
		if s.class != abi.ClassKeyMeter {
			continue
		}
		r := abi.Reader{Buf: s.command}
		r.Uint()
		r.Uint()
		record, err := doc.DecodeRecord(r.Bytes())
		if err != nil {
			o.t.Fatal(err)
		}
		if o.byName[s.name] == nil {
			o.byName[s.name] = map[uint64][]byte{}
		}
		if other := o.byName[s.name][record.Version]; other != nil && !bytes.Equal(other, s.command) {
			o.t.Errorf("%s got two deliveries of version %d: %x and %x", s.name, record.Version, other, s.command)
		}
		o.byName[s.name][record.Version] = s.command
		if record.Version > o.versions[s.name] {
			o.versions[s.name], o.newest[s.name] = record.Version, s.command
		}
	}
}

// checkDeliveries compares the deliveries to meters and KV with the documents.
func (b *bench) checkDeliveries(path string, o *deliveries, changed []string) {
	b.Helper()
	p, err := b.handler.(*handler).store.project(b.Context(), strings.TrimPrefix(path, "/api/admin/projects/"))
	if err != nil {
		b.Fatal(err)
	}
	all := b.keysOf(path)
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
		published, err := doc.DecodeRecord(b.memory.kv[doc.RecordKey(k.Hash)])
		if err != nil || published.Differs(want) || published.Version != record.Version {
			b.Errorf("%s is published as %+v (%v), but its meter has %+v", k.ID, published, err, record)
		}
	}
}
