package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

const (
	movedID   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	anotherID = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// post sends a request of an import and returns the response's status and body.
func (c *fixture) post(path string, body any) (int, string) {
	c.Helper()
	encoded, err := json.Marshal(body)
	c.must(err)
	got, err := c.run.adminCall("POST", "/api/admin/"+path, string(encoded))
	c.must(err)
	return got.status, string(got.body)
}

type jsonObject = map[string]any

func rowOf(key string, value []byte) jsonObject {
	return jsonObject{"key": key, "value": base64.StdEncoding.EncodeToString(value)}
}

// storedDocument returns a document as the Directory stores it.
func storedDocument(value []byte) []byte {
	var w abi.Writer
	w.Uint(1)
	w.Bytes(value)
	return w.Buf
}

// TestImportRefusesRows checks that an object receives only rows of its kind and of the import's projects. In
// particular, no row makes an object call another one.
func TestImportRefusesRows(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.do("project mine", "key live mine")
	if status, text := c.post("import", jsonObject{"import": movedID, "projects": []string{"proj_1"}}); status != 200 {
		t.Fatal(status, text)
	}
	delivery := abi.Delivery{Class: abi.ClassDirectory, Name: "directory", Data: []byte{2, 0, 0, 0}}
	unknown := doc.Project{ID: "proj_1", Plan: "platinum"}
	sealed := doc.Project{ID: "proj_1", Plan: "developer"}
	sealed.Policy.ProviderKeys = []doc.ProviderKey{{Provider: "openai", KeyID: "1999", Last4: "last", Sealed: make([]byte, 40)}}
	other := doc.Project{ID: "proj_2", Plan: "developer"}
	below, top := doc.Project{ID: "proj_1", Plan: "developer", Chain: []doc.Node{{ID: doc.Root}}}, doc.Group{ID: doc.Root}
	key := doc.Key{ID: "key_1", ProjectID: "proj_1", Hash: "short"}
	meter := "meter/" + movedID
	c.refusesRows([]refusedRow{
		{"ledger/proj_1", "", "o/000000000001", delivery.Encode(), "not a row"},
		{meter, "proj_1", "o/000000000001", delivery.Encode(), "not a row"},
		{"directory", "", "o/000000000001", delivery.Encode(), "not a row"},
		{"directory", "", "f/proj_1", nil, "not a row"},
		{"directory", "", "seq", []byte{1}, "not a row"},
		{"directory", "", "d/c/salt", storedDocument([]byte("salt")), "not a row"},
		{"directory", "", "d/i/import", storedDocument([]byte("{}")), "not a row"},
		{"directory", "", "d/a/1", []byte("x"), "not a row"},
		{"directory", "", "d/p/proj_2", storedDocument(other.Encode()), "not a row"},
		{"directory", "", "d/p/" + c.run.names["mine"], storedDocument(other.Encode()), "not a row"},
		{"directory", "", "ch/proj_2/1", []byte("x"), "not a row"},
		{"directory", "", "d/p/proj_1", storedDocument(other.Encode()), "malformed"},
		{"directory", "", "d/p/proj_1", storedDocument([]byte("x")), "malformed"},
		{"directory", "", "d/k/proj_1/key_1", storedDocument(key.Encode()), "malformed"},
		{"directory", "", "d/p/proj_1", storedDocument(unknown.Encode()), "platinum"},
		{"directory", "", "d/p/proj_1", storedDocument(sealed.Encode()), "POSTERN_MASTER_KEYS"},
		{"directory", "", "d/p/proj_1", storedDocument(below.Encode()), "below root, which the import does not have"},
		{"directory", "", "d/g/root", storedDocument(top.Encode()), "not a row"},
		{"ledger/root", "", "al", nil, "project"},
		{"ledger/root#requests", "", "al", nil, "project"},
		{"ledger/proj_1", "", "up", c.upward(doc.Root), "not a row"},
		{meter, "proj_1", "h", c.meterBelow(doc.Root), "not a row"},
		{"ledger/proj_1", "", "h", []byte("x"), "not a row"},
		{"ledger/proj_1", "", "b", []byte("x"), "not a row"},
		{"ledger/proj_1", "", "k/x", []byte("x"), "not a row"},
		{meter, "proj_1", "b", []byte("x"), "not a row"},
		{meter, "proj_1", "h", []byte("x"), "not a row"},
		{meter, "", "x/1", nil, "project"},
		{meter, c.run.names["mine"], "x/1", nil, "project"},
		{"ledger/" + c.run.names["mine"], "", "al", nil, "project"},
		{"ledger/proj_1", "", "al\n", nil, "printable"},
		{"ledger/proj_1", "", strings.Repeat("u", 1025), nil, "printable"},
		{"ledger/proj_1", "", "", nil, "printable"},
		{"ledger/proj_1", "", "al", make([]byte, 2_000_001), "2000000"},
		{"kv/key", "", "al", nil, "object"},
		{"meter/x", "proj_1", "h", nil, "object"},
		{"ledger/proj_1/x", "", "al", nil, "object"},
	})
	c.refusesPages()
	if got, err := c.run.adminCall("POST", "/api/admin/export", `{"object":"`+meter+`"}`); err != nil || !strings.Contains(string(got.body), `"rows":[]`) {
		t.Errorf("a refused row was stored: %v %s", err, got.body)
	}
}

// refusedRow is a row that an import of proj_1 refuses.
type refusedRow struct {
	object, project, key string
	value                []byte
	want                 string
}

func (c *fixture) refusesRows(rows []refusedRow) {
	c.Helper()
	for _, r := range rows {
		body := jsonObject{"import": movedID, "object": r.object, "rows": []any{rowOf(r.key, r.value)}}
		if r.project != "" {
			body["project"] = r.project
		}
		if status, text := c.post("import/rows", body); status != 400 || !strings.Contains(text, r.want) {
			c.Errorf("%s %.40q: %d %.300s, want a 400 about %q", r.object, r.key, status, text, r.want)
		}
	}
}

// TestImportRefusesGroups checks that an import writes only its own groups and their Ledgers, and that its projects and
// keys use no other ones.
func TestImportRefusesGroups(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	if status, text := c.post("import", jsonObject{"import": movedID, "projects": []string{"proj_1"}, "groups": []string{"grp_1"}}); status != 200 {
		t.Fatal(status, text)
	}
	c.script("group", "== group\nsend POST /api/admin/groups\n  authorization: Bearer $admin\n  {\"name\":\"Ours\"}\nexpect 201\n  id -> ours\n")
	meter := "meter/" + movedID
	outside := doc.Project{ID: "proj_1", Plan: "developer", Group: c.run.names["ours"]}
	former := doc.Project{ID: "proj_1", Plan: "developer", Group: "grp_1", Paths: []doc.Path{{Number: 1, Nodes: []doc.Ancestor{{ID: c.run.names["ours"]}}}}}
	group, orphan, top := doc.Group{ID: "grp_1", Parent: c.run.names["ours"]}, doc.Group{ID: "grp_1"}, doc.Group{ID: doc.Root}
	c.refusesRows([]refusedRow{
		{"directory", "", "d/p/proj_1", storedDocument(outside.Encode()), "which the import does not have"},
		{"directory", "", "d/p/proj_1", storedDocument(former.Encode()), "not a row"},
		{"directory", "", "d/g/grp_1", storedDocument(group.Encode()), "which the import does not have"},
		{"directory", "", "d/g/grp_1", storedDocument(orphan.Encode()), "malformed"},
		{"directory", "", "d/g/grp_1", storedDocument(top.Encode()), "malformed"},
		{"directory", "", "d/g/grp_1", storedDocument([]byte("x")), "malformed"},
		{"directory", "", "d/g/" + c.run.names["ours"], storedDocument(group.Encode()), "not a row"},
		{"ledger/" + c.run.names["ours"], "", "al", nil, "project"},
		{"ledger/grp_1#cents", "", "al", nil, "object"},
		{meter, "proj_1", "h", c.meterBelow(c.run.names["ours"]), "not a row"},
		{"ledger/proj_1", "", "up", c.upward(c.run.names["ours"]), "not a row"},
		{meter, "proj_1", "h", c.meterBelow("proj_2#tokens"), "not a row"},
	})
}

// meterBelow returns the row of a meter in proj_1 that asks a Ledger above the project.
func (c *fixture) meterBelow(ledger string) []byte {
	c.Helper()
	id, unit := doc.UnitOf(ledger)
	put := keymeter.Put{Status: doc.Active, Record: doc.Record{Version: 1, KeyID: "key_1", ProjectID: "proj_1", Chain: []doc.Node{{ID: id, Unit: unit}}}}
	in := abi.ObjectInput{Class: abi.ClassKeyMeter, Name: movedID, NowMs: uint64(Start.UnixMilli()), Command: put.Encode()}
	out, err := keymeter.Apply(&config.Config{}, &in)
	c.must(err)
	for _, row := range out.Puts {
		if row.Key == "h" {
			return row.Value
		}
	}
	c.Fatal("no row")
	return nil
}

// upward returns the row of a project's Ledger that sends usage to a group.
func (c *fixture) upward(group string) []byte {
	c.Helper()
	put := ledger.Put{Version: 1, Paths: []doc.Path{{Number: 1, Nodes: []doc.Ancestor{{ID: group}}}}}
	in := abi.ObjectInput{Class: abi.ClassLedger, Name: "proj_1", NowMs: uint64(Start.UnixMilli()), Command: put.Encode()}
	out, err := ledger.Apply(&in)
	c.must(err)
	for _, row := range out.Puts {
		if row.Key == "up" {
			return row.Value
		}
	}
	c.Fatal("no row")
	return nil
}

// refusesPages checks refusals of entire pages.
func (c *fixture) refusesPages() {
	c.Helper()
	good := rowOf("al", []byte{1})
	for name, f := range map[string]struct {
		body jsonObject
		want int
	}{
		"out of order":    {jsonObject{"import": movedID, "object": "ledger/proj_1", "rows": []any{rowOf("vs", nil), good}}, 400},
		"twice":           {jsonObject{"import": movedID, "object": "ledger/proj_1", "rows": []any{good, good}}, 400},
		"no rows":         {jsonObject{"import": movedID, "object": "ledger/proj_1"}, 400},
		"no base64":       {jsonObject{"import": movedID, "object": "ledger/proj_1", "rows": []any{jsonObject{"key": "al", "value": "?"}}}, 400},
		"unknown region":  {jsonObject{"import": movedID, "object": "ledger/proj_1", "region": "moon", "rows": []any{good}}, 400},
		"unknown field":   {jsonObject{"import": movedID, "object": "ledger/proj_1", "force": true, "rows": []any{good}}, 400},
		"another import":  {jsonObject{"import": anotherID, "object": "ledger/proj_1", "rows": []any{good}}, 409},
		"too many bytes":  {jsonObject{"import": movedID, "object": "ledger/proj_1", "rows": []any{rowOf("al", make([]byte, 4<<20))}}, 413},
		"malformed check": {jsonObject{"import": "x", "object": "ledger/proj_1", "rows": []any{good}}, 400},
	} {
		if status, text := c.post("import/rows", f.body); status != f.want {
			c.Errorf("%s: %d %.300s, want %d", name, status, text, f.want)
		}
	}
}

// TestImportStates checks that an import writes only between its beginning and its end, and only into projects that
// did not exist. Only one import runs at a time.
func TestImportStates(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.do("project mine", "key live mine")
	begin := func(id string, projects ...string) jsonObject {
		return jsonObject{"import": id, "projects": append([]string{}, projects...)}
	}
	page := func(id string) jsonObject {
		return jsonObject{"import": id, "object": "ledger/proj_1", "first": true, "rows": []any{rowOf("al", []byte{1})}}
	}
	for i, f := range []struct {
		path string
		body jsonObject
		want int
	}{
		{"import/rows", page(movedID), 409},
		{"import/finish", jsonObject{"import": movedID}, 409},
		{"import", begin(movedID, c.run.names["mine"]), 409},
		{"import", begin(movedID, "mine"), 400},
		{"import", begin("x"), 400},
		{"import", begin(movedID, "proj_1"), 200},
		{"import", begin(anotherID, "proj_1"), 409},
		{"import", begin(movedID, "proj_1"), 200},
		{"import/rows", page(movedID), 204},
		{"import/rows", page(movedID), 204},
		{"import/finish", jsonObject{"import": anotherID}, 409},
		{"import/finish", jsonObject{"import": movedID}, 200},
		{"import/finish", jsonObject{"import": movedID}, 200},
		{"import/rows", page(movedID), 409},
		{"import", begin(movedID, "proj_1"), 200},
		{"import", begin(anotherID, "proj_2"), 200},
	} {
		if status, text := c.post(f.path, f.body); status != f.want {
			t.Errorf("call %d, %s: %d %s, want %d", i, f.path, status, text, f.want)
		}
	}
	got, err := c.run.adminCall("GET", "/api/admin/audit?action=deployment", "")
	if err != nil || strings.Count(string(got.body), `"deployment.import"`) != 1 {
		t.Errorf("audit log: %v %s", err, got.body)
	}
	c.viewerMayNot()
}

// viewerMayNot checks that viewers can neither export nor import.
func (c *fixture) viewerMayNot() {
	c.Helper()
	for _, path := range []string{"export", "import", "import/rows", "import/finish"} {
		got, err := c.run.do(request{method: "POST", path: "/api/admin/" + path, body: `{"object":"directory"}`,
			headers: map[string]string{"authorization": "Bearer " + ViewerToken, "content-type": "application/json"}})
		if err != nil || got.status != 403 {
			c.Errorf("%s as a viewer: %d %s %v", path, got.status, got.body, err)
		}
	}
}

// TestMoveMerges checks that a deployment with projects keeps them during an import, and that a second import of the
// same projects is refused.
func TestMoveMerges(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	source, target := newFixture(t, upstream, deployment(upstream)), newFixture(t, upstream, deployment(upstream))
	target.do("project own budget=3", "key resident own")
	own := target.answers(movedPaths, "own")
	source.play("before.txt")
	file := source.export(t)
	for name, value := range source.run.names {
		target.run.names[name] = value
	}
	target.must(target.run.moveClock(source.run.now, Step{}))
	target.load(t, file)
	for path, text := range own {
		if now := target.answers(movedPaths, "own")[path]; now != text && !strings.HasSuffix(path, "/projects") && !strings.Contains(path, "/audit") {
			t.Errorf("%s is\n%.1000s\nwant\n%.1000s", path, now, text)
		}
	}
	target.play("after.txt")
	if status, text := target.post("import", jsonObject{"import": anotherID, "projects": []string{target.run.names["main"]}}); status != 409 {
		t.Errorf("a second import: %d %s", status, text)
	}
}

const oneMore = `
send POST /api/ai/complete key=%s
  {"messages":[{"role":"user","content":"one more"}],"quality":"cheap"}
expect 402
  json limit.of = "deployment"
`

// TestMoveBesideBudgets checks that the deployment's own budget applies to all projects after an import: to earlier
// projects if the file has the budget, and to imported projects if the deployment had it.
func TestMoveBesideBudgets(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	source, target := newFixture(t, upstream, deployment(upstream)), newFixture(t, upstream, deployment(upstream))
	target.do("project own budget=3", "key resident own")
	source.play("groups-before.txt")
	maps.Copy(target.run.names, source.run.names)
	target.must(target.run.moveClock(source.run.now, Step{}))
	target.load(t, source.export(t))
	target.script("lower", "== lower\nadmin PATCH /api/admin/groups/root\n  {\"budget\":0.009}\n"+fmt.Sprintf(oneMore, "resident"))
	if status, text := target.post("import", jsonObject{"import": anotherID, "projects": []string{}, "groups": []string{"root"}}); status != 409 || !strings.Contains(text, "this deployment has groups") {
		t.Errorf("a second root: %d %s", status, text)
	}
	if status, text := target.post("import", jsonObject{"import": anotherID, "projects": []string{}, "groups": []string{target.run.names["vision"]}}); status != 409 {
		t.Errorf("a group that exists: %d %s", status, text)
	}
	small, budgeted := newFixture(t, upstream, deployment(upstream)), newFixture(t, upstream, deployment(upstream))
	small.script("small", "== small\nproject main\nkey live main\nadvance 10s\n")
	budgeted.script("budgeted", "== budgeted\nadmin PATCH /api/admin/groups/root\n  {\"budget\":0.001}\n")
	maps.Copy(budgeted.run.names, small.run.names)
	budgeted.load(t, small.export(t))
	budgeted.script("one more", "== one more\n"+fmt.Sprintf(oneMore, "live"))
}

// TestMoveWithOpenRequest checks that a request in flight while its deployment moves becomes a flagged estimate in
// the new one. The outcome of its idempotency key is unknown there.
func TestMoveWithOpenRequest(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	source, target := newFixture(t, upstream, deployment(upstream)), newFixture(t, upstream, deployment(upstream))
	source.script("held", `== held
project main budget=1
key live main
upstream hold
start one POST /api/ai/complete key=live
  idempotency-key: order-1
  {"messages":[{"role":"user","content":"Hello"}],"quality":"cheap"}
held 1`)
	file := source.export(t)
	target.run.names["main"], target.run.names["live"] = source.run.names["main"], source.run.names["live"]
	target.load(t, file)
	source.do("release", "join one", "expect 200")
	target.do("advance 1h")
	got, err := target.run.adminCall("GET", "/api/admin/projects/"+target.run.names["main"]+"/usage?by=model", "")
	if err != nil || !strings.Contains(string(got.body), `"requests":1`) || !strings.Contains(string(got.body), `"expired":1`) {
		t.Errorf("%v %s", err, got.body)
	}
	target.script("moved", `== moved
send POST /api/ai/complete key=live
  idempotency-key: order-1
  {"messages":[{"role":"user","content":"Hello"}],"quality":"cheap"}
expect 409
  json code = "idempotency_outcome_unknown"`)
}

// TestExportHasNoSecrets checks that a file contains no key values, provider keys or secrets of the deployment, in
// plain text or in base64.
func TestExportHasNoSecrets(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.play("before.txt")
	file := c.export(t)
	text, err := os.ReadFile(filepath.Clean(file))
	c.must(err)
	all := string(text)
	for _, value := range objectRows(t, file) {
		all += value
	}
	secrets := []string{AdminToken, ViewerToken, MasterKey, "sk-of-the-other-project", "sk-upstream"}
	for _, name := range []string{"live", "paused", "removed", "rotated", "daily", "reader", "second", "gone"} {
		secrets = append(secrets, c.run.names[name], c.run.names[name][8:])
	}
	for _, secret := range secrets {
		if strings.Contains(all, secret) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(secret))) {
			t.Errorf("the file has the secret %s", fmt.Sprintf("%.12s…", secret))
		}
	}
}
