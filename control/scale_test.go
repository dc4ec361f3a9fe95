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

// large is a bench with many projects, the first of which has many keys. Every tenth key is one of a project,
// every seventh is for development, and every 1,000th is called a needle.
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

// pages reads a list to its end, and gives the names in it, in order. No page asks objects more often than most.
func (b *bench) pages(list, query string, most int) (names []string, count int) {
	b.Helper()
	path, after := strings.SplitAfter(list, "?")[0], ""
	for {
		b.memory.calls = 0
		got := b.must(200, "GET", path+"?"+query+after, "")
		if b.memory.calls > most {
			b.Fatalf("%s%s asks objects %d times, %d are enough", query, after, b.memory.calls, most)
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
		// The project, some parts of the Directory's list, and the ledger's last uses.
		names, pages := b.pages(path+"/keys", c.query, maxScanPages+2)
		if !slices.Equal(names, c.want) || pages > c.pages {
			t.Errorf("%s: %d keys on %d pages, want %d on at most %d", c.query, len(names), pages, len(c.want), c.pages)
		}
	}
	if _, pages := b.pages(path+"/keys", "limit=100", 3); pages != 100 {
		t.Errorf("%d pages", pages)
	}
}

// A page that ends with what is wanted last has no next, whether filtered or not.
func TestTheLastPageHasNoNext(t *testing.T) {
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

// A key that comes or goes between two pages neither hides another nor shows it twice.
func TestPagesWhileKeysComeAndGo(t *testing.T) {
	b := newBench(t)
	path := b.project()
	var paths []string
	for range 6 {
		b.now = b.now.Add(time.Millisecond)
		keyPath, _ := b.key(path)
		paths = append(paths, keyPath)
	}
	first := b.must(200, "GET", path+"/keys?limit=3", "")
	b.must(204, "DELETE", paths[2], "") // the one that next names
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

// A change of a project with many keys is one commit, tells the first 200 keys before it answers, and the
// others by the Directory's alarm: each what a direct delivery would say, also those that change meanwhile.
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
	// Read and write the project, its ledger, 200 keys, and those read with the project before and after.
	if commits != 1 || len(b.memory.sent) != 1+maxUpdatedKeys || b.memory.calls > len(b.memory.sent)+5 {
		t.Errorf("%d commits, %d calls, %d of them to the ledger and the meters", commits, b.memory.calls, len(b.memory.sent))
	}
	told := newTold(t)
	told.take(b.memory.sent)
	b.memory.deliver(t)

	changed := b.changeInTheMiddle(path)
	for b.memory.ring(t) {
		told.take(b.memory.sent)
		b.memory.sent = nil
	}
	told.take(b.memory.sent)
	b.checkTold(path, told, changed)
}

// changeInTheMiddle lets the alarm go through some pages of keys, and then changes a key that was told
// already and one that was not.
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

// told is the newest that each meter was told, and a check that no two records have one version.
type told struct {
	t        *testing.T
	newest   map[string][]byte
	versions map[string]uint64
	byName   map[string]map[uint64][]byte
}

func newTold(t *testing.T) *told {
	return &told{t, map[string][]byte{}, map[string]uint64{}, map[string]map[uint64][]byte{}}
}

func (o *told) take(calls []sent) {
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
			o.t.Errorf("%s was told two things with version %d: %x and %x", s.name, record.Version, other, s.command)
		}
		o.byName[s.name][record.Version] = s.command
		if record.Version > o.versions[s.name] {
			o.versions[s.name], o.newest[s.name] = record.Version, s.command
		}
	}
}

// checkTold compares what the meters and KV were told with what the documents say.
func (b *bench) checkTold(path string, o *told, changed []string) {
	b.Helper()
	p, err := b.handler.(*handler).store.project(b.Context(), strings.TrimPrefix(path, "/api/admin/projects/"))
	if err != nil {
		b.Fatal(err)
	}
	all := b.keysOf(path)
	if len(all) != largeKeys || len(o.newest) != largeKeys {
		b.Fatalf("%d keys, of which %d were told", len(all), len(o.newest))
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
			b.Errorf("%s (%s) was told %d %+v, want %d %+v", k.ID, k.Name, put.Status, record, k.Status, want)
		}
		if slices.Contains(changed, k.ID) && k.Status == doc.Active && record.Limits.PerDay != 5 {
			b.Errorf("%s lost its change: %+v", k.ID, record)
		}
		if k.Status != doc.Active {
			continue // what KV has of an inactive key may be old
		}
		published, err := doc.DecodeRecord(b.memory.kv[doc.RecordKey(k.Hash)])
		if err != nil || published.Differs(want) || published.Version != record.Version {
			b.Errorf("%s is published as %+v (%v), and its meter has %+v", k.ID, published, err, record)
		}
	}
}
