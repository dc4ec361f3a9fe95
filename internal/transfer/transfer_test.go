package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/internal/admin"
)

// fake is a deployment that only stores rows. It implements Client.
type fake struct {
	mu       sync.Mutex
	objects  map[string]map[string][]byte
	limit    int // rows of a page
	before   func(path string) error
	began    string
	asked    map[string]bool // objects
	groups   string          // in the announcement of an import, as JSON
	finished bool
}

func newFake() *fake {
	return &fake{objects: map[string]map[string][]byte{}, asked: map[string]bool{}, limit: 3}
}

func (f *fake) Do(_ context.Context, _, path string, body, out any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		if err := f.before(path); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var in struct {
		Object, After, Import string
		First                 bool
		Rows                  []row
		Groups                json.RawMessage
	}
	if err := json.Unmarshal(encoded, &in); err != nil {
		return err
	}
	var reply any
	switch strings.TrimPrefix(path, "/api/admin/") {
	case "export":
		f.asked[in.Object] = true
		reply = f.page(in.Object, in.After)
	case "import":
		reply, f.began = map[string]bool{"finished": f.finished}, in.Import
		f.groups = string(in.Groups)
	case "import/rows":
		if in.First && in.Object != directoryObject || f.objects[in.Object] == nil {
			f.objects[in.Object] = map[string][]byte{}
		}
		for _, r := range in.Rows {
			f.objects[in.Object][r.Key] = r.Value
		}
	case "import/finish":
		f.finished = in.Import == f.began
	}
	encoded, err = json.Marshal(reply)
	if err == nil && out != nil {
		err = json.Unmarshal(encoded, out)
	}
	return err
}

func (f *fake) page(object, after string) any {
	rows, next := []row{}, (*string)(nil)
	for _, key := range slices.Sorted(maps.Keys(f.objects[object])) {
		if key <= after {
			continue
		}
		if len(rows) == f.limit {
			next = &rows[f.limit-1].Key
			break
		}
		rows = append(rows, row{key, f.objects[object][key]})
	}
	return map[string]any{"rows": rows, "next": next}
}

func stored(value []byte) []byte {
	var w abi.Writer
	w.Uint(1)
	w.Bytes(value)
	return w.Buf
}

// populated returns a deployment with random rows. It has groups, projects, keys, and meters that only a ledger knows.
func populated(random *rand.Rand) *fake {
	f := newFake()
	directory := map[string][]byte{"d/a/1": stored([]byte("{}"))}
	f.objects[directoryObject] = directory
	for n, id := range []string{doc.Root, "grp_1", "grp_2"}[:random.IntN(4)] {
		g := doc.Group{ID: id, Parent: []string{"", doc.Root, "grp_1"}[n]}
		directory["d/"+doc.GroupKey(id)] = stored(g.Encode())
		for u := range doc.Unit(1 + random.IntN(3)) {
			f.objects[ledgerPrefix+doc.LedgerName(id, u)] = map[string][]byte{"b": make([]byte, 9), fmt.Sprintf("k/%064x", n): {1}}
		}
	}
	for n := range 1 + random.IntN(4) {
		p := doc.Project{ID: fmt.Sprint("proj_", n), Region: []string{"", "weur"}[n%2]}
		directory["d/"+doc.ProjectKey(p.ID)] = stored(p.Encode())
		ledger := map[string][]byte{}
		for range random.IntN(9) {
			ledger[fmt.Sprint("u/", random.IntN(99))] = make([]byte, random.IntN(400))
		}
		for m := range random.IntN(20) {
			k := doc.Key{ID: fmt.Sprint("key_", m), ProjectID: p.ID, Hash: fmt.Sprintf("%064x", n*100+m)}
			if ledger["k/"+k.Hash] = []byte{1}; m%3 > 0 { // the others were removed
				directory["d/"+doc.KeyKey(p.ID, k.ID)] = stored(k.Encode())
			}
			f.objects[meterPrefix+k.Hash] = map[string][]byte{"h": {byte(m)}, "x/1": {2}, "i/1": {3}, "a/1": make([]byte, 1000)}
		}
		if len(ledger) > 0 {
			f.objects[ledgerPrefix+p.ID] = ledger
		}
	}
	return f
}

func exported(t *testing.T, f *fake) (*os.File, error) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	e := Export{Client: f, Source: "http://a.example", Sleep: func(context.Context, time.Duration) error { return nil }}
	_, err = e.Write(t.Context(), file)
	return file, err
}

func content(t *testing.T, file io.ReadSeeker) []byte {
	t.Helper()
	_, _ = file.Seek(0, io.SeekStart)
	all, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRoundTrip checks that exporting, importing and exporting again gives the same file, and that all objects have
// the same rows.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(30) {
		from, to := populated(rand.New(rand.NewPCG(seed, 1))), newFake()
		file, err := exported(t, from)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Import(t.Context(), to, file); err != nil || !to.finished {
			t.Fatalf("finished: %v, %v", to.finished, err)
		}
		if !maps.EqualFunc(from.objects, to.objects, func(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }) {
			t.Errorf("seed %d: the rows differ", seed)
		}
		again, err := exported(t, to)
		if err != nil || !bytes.Equal(content(t, again), content(t, file)) {
			t.Errorf("seed %d: the second file differs, %v", seed, err)
		}
		if _, err := Import(t.Context(), to, file); !errors.Is(err, ErrImported) {
			t.Errorf("a second import: %v", err)
		}
	}
}

// TestExportWaits checks that objects are read again if they change while they are being read. If a deployment keeps
// changing, it is not exported, and the error names the objects that changed.
func TestExportWaits(t *testing.T) {
	for calls, want := range map[int]string{30: "", 1 << 30: "meter/"} {
		f := populated(rand.New(rand.NewPCG(3, 1)))
		var meter string
		for name := range f.objects {
			if rank(name) == 2 {
				meter = name
			}
		}
		n := 0
		f.before = func(string) error {
			if n++; n < calls {
				f.objects[meter]["h"] = []byte(fmt.Sprint(n))
			}
			return nil
		}
		file, err := exported(t, f)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%d changes: %v", calls, err)
		case want == "":
			to := newFake()
			if _, err := Import(t.Context(), to, file); err != nil || !bytes.Equal(to.objects[meter]["h"], f.objects[meter]["h"]) {
				t.Errorf("the file has an old row, %v", err)
			}
		}
	}
}

// TestPendingDeliveries checks that an export waits until an object has made its deliveries. After any other error,
// it fails.
func TestPendingDeliveries(t *testing.T) {
	for _, c := range []struct {
		status, times int
		works         bool
	}{{http.StatusConflict, 2, true}, {http.StatusConflict, 1 << 30, false}, {http.StatusForbidden, 1, false}} {
		f, n := populated(rand.New(rand.NewPCG(3, 1))), 0
		f.before = func(string) error {
			if n++; n <= c.times {
				return &admin.Error{Status: c.status, Message: "refused"}
			}
			return nil
		}
		if _, err := exported(t, f); (err == nil) != c.works || err != nil && !strings.Contains(err.Error(), "refused") {
			t.Errorf("%d times %d: %v", c.times, c.status, err)
		}
	}
}

// TestInterrupted lets an import fail at any of its calls. It must be possible to repeat it, and then it must be
// complete.
func TestInterrupted(t *testing.T) {
	from := populated(rand.New(rand.NewPCG(5, 1)))
	file, err := exported(t, from)
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		to, n := newFake(), 0
		to.before = func(string) error {
			if n++; n == at {
				return errors.New("interrupted")
			}
			return nil
		}
		if _, err := Import(t.Context(), to, file); err == nil {
			if at < 20 {
				t.Errorf("only %d calls", at)
			}
			return
		}
		if to.finished {
			t.Errorf("call %d failed, and the import was finished", at)
		}
		if _, err := Import(t.Context(), to, file); err != nil || len(to.objects) != len(from.objects) {
			t.Fatalf("after call %d failed: %v, %d objects", at, err, len(to.objects))
		}
	}
}

// TestGroupsAreOptional checks that an export asks for the ledgers of groups only if there are groups. It
// asks for ledgers that count requests or tokens only if a project or group can have them. An import without groups does not mention them, so
// an older deployment accepts it.
func TestGroupsAreOptional(t *testing.T) {
	for _, c := range []struct {
		limits  doc.PeriodLimits
		grouped bool
		want    []string
		groups  string
	}{
		{doc.PeriodLimits{}, false, []string{"directory", "ledger/proj_1"}, ""},
		{doc.PeriodLimits{Tokens: 1}, false, []string{"directory", "ledger/proj_1", "ledger/proj_1#requests", "ledger/proj_1#tokens"}, ""},
		{doc.PeriodLimits{}, true, []string{"directory", "ledger/grp_1", "ledger/grp_1#requests", "ledger/grp_1#tokens", "ledger/proj_1", "ledger/root", "ledger/root#requests", "ledger/root#tokens"}, `["grp_1"]`},
	} {
		f := newFake()
		p := doc.Project{ID: "proj_1", Limits: c.limits}
		f.objects[directoryObject] = map[string][]byte{"d/" + doc.ProjectKey(p.ID): stored(p.Encode())}
		if c.grouped {
			g := doc.Group{ID: "grp_1", Parent: doc.Root}
			f.objects[directoryObject]["d/"+doc.GroupKey(g.ID)] = stored(g.Encode())
		}
		file, err := exported(t, f)
		if got := slices.Sorted(maps.Keys(f.asked)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("asked for %q, want %q, %v", got, c.want, err)
		}
		to := newFake()
		if _, err := Import(t.Context(), to, file); err != nil || to.groups != c.groups {
			t.Errorf("the import announces the groups %s, want %s, %v", to.groups, c.groups, err)
		}
	}
}
