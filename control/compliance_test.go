package control

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

// evidence is a bench with a signing key and a project with events in both chains.
type evidence struct {
	*bench
	path, id string
	signing  string
}

func newEvidence(t *testing.T) *evidence {
	e := &evidence{bench: newBench(t), signing: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	e.memory.reducers = true
	e.handler.(*handler).SigningKeys = func() string { return e.signing }
	e.path = e.project()
	e.id = e.path[strings.LastIndex(e.path, "/")+1:]
	return e
}

// fill makes n events in the Directory's chain and a day's usage in the Ledger's.
func (e *evidence) events(n int) {
	for i := range n {
		e.now = e.now.Add(time.Second)
		e.must(200, "PATCH", e.path, fmt.Sprintf(`{"name":"Name <%d> é"}`, i))
	}
}

func (e *evidence) use(daysAgo uint64) {
	e.absorb(e.path, []booked{{today - daysAgo, 1, fmt.Sprint("key_of_day", daysAgo), "m-a", 2, 100}, {today - daysAgo, 2, fmt.Sprint("key_b", daysAgo), "m-b", 1, 1}})
}

func (e *evidence) publicKey() string {
	e.Helper()
	signing := e.must(200, "GET", e.path+"/compliance/summary", "").fields["signing"].(map[string]any)
	return signing["publicKeys"].([]any)[0].(map[string]any)["publicKey"].(string)
}

// export downloads all pages of an export, by their Link headers.
func (e *evidence) export(query string) (pages []string) {
	e.Helper()
	for at := e.path + "/compliance/export?" + query; at != ""; {
		got := e.must(200, "GET", at, "")
		if kind := got.Header().Get("Content-Type"); kind != "application/x-ndjson" {
			e.Fatalf("%s: %s", at, kind)
		}
		pages = append(pages, got.Body.String())
		link := got.Header().Get("Link")
		if at = ""; link != "" {
			at = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		}
		if len(pages) > 200 {
			e.Fatal("the export does not end")
		}
	}
	return pages
}

// verified runs the offline verifier, each page in a file of its own.
func (e *evidence) verified(pages []string, flags ...string) (code int, output string) {
	e.Helper()
	dir := e.TempDir()
	for i, page := range pages {
		name := filepath.Join(dir, fmt.Sprintf("page%03d.ndjson", i))
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			e.Fatal(err)
		}
		flags = append(flags, name)
	}
	var out strings.Builder
	code = verify.Run("verify", flags, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// file writes a file and returns its name.
func (e *evidence) file(text string) string {
	name := filepath.Join(e.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
	return name
}

func (e *evidence) daily() {
	e.Helper()
	e.now = e.now.AddDate(0, 0, 1)
	if err := e.hourly(); err != nil {
		e.Fatal(err)
	}
}

// Every export with a chain verifies offline, in one page and in many.
func TestExportsVerifyOffline(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(7)
	e.bench.key(e.path)
	e.use(1)
	e.use(0)
	e.daily()
	e.events(2)
	key := e.publicKey()
	for _, kind := range []string{"audit", "policies", "access", "usage", "violations"} {
		for _, limit := range []string{"", "&limit=1", "&limit=4"} {
			pages := e.export("type=" + kind + limit)
			code, output := e.verified(pages, "-key", key)
			if code != verify.Valid {
				t.Errorf("%s%s: %s", kind, limit, output)
			}
			if limit == "&limit=1" && len(pages) < 2 && kind != "violations" {
				t.Errorf("%s: %d pages", kind, len(pages))
			}
		}
	}
	if code, output := e.verified(e.export("type=audit"), "-key", key); code != 0 || !strings.Contains(output, "Entries 1 to 11") || !strings.Contains(output, "up to entry 9") {
		t.Errorf("%d %s", code, output)
	}
	if code, output := e.verified(e.export("type=inventory"), "-key", key); code != verify.Misused {
		t.Errorf("inventory: %d %s", code, output)
	}
}

// The payloads of other subjects are left out, and their hashes are not.
func TestExportsHaveTheirPayloadsOnly(t *testing.T) {
	e := newEvidence(t)
	e.events(1)
	e.bench.key(e.path)
	for kind, want := range map[string][]bool{"audit": {true, true, true}, "policies": {true, true, false}, "access": {true, true, true}} {
		var have []bool
		for _, line := range strings.Split(strings.Join(e.export("type="+kind), ""), "\n") {
			var event compliance.Event
			if json.Unmarshal([]byte(line), &event) == nil && event.Record == compliance.EventRecord {
				have = append(have, string(event.Payload) != "null")
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", kind, have, want)
		}
	}
}

// Any change to an export or a checkpoint is found and named.
func TestOfflineVerifierFindsChanges(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(9)
	e.daily()
	key, pages := e.publicKey(), e.export("type=audit&limit=3")
	whole := strings.Join(e.export("type=audit"), "")
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	checkpoints := e.file(e.must(200, "GET", e.path+"/compliance/checkpoints", "").Body.String())
	other := e.otherKey()
	without := func(i int) string { return strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "") }
	swapped := slices.Clone(lines)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	headless := strings.Replace(whole, `"checkpoints":[{`, `"was":[{`, 1)
	for name, c := range map[string]struct {
		pages []string
		flags []string
		want  string
	}{
		"payload":           {[]string{strings.Replace(whole, "Name <3>", "Name <4>", 1)}, nil, "the payload of entry 5 (project.update) was changed"},
		"kind":              {[]string{strings.Replace(whole, `"project.create"`, `"project.crepte"`, 1)}, nil, "entry 1 (project.crepte) was changed"},
		"time":              {[]string{strings.Replace(whole, `"time":"2026-11-21T08:08:09`, `"time":"2026-11-21T08:08:08`, 1)}, nil, "entry 3 (project.update) was changed"},
		"spaces":            {[]string{strings.Replace(whole, `"seq":4,`, `"seq": 4,`, 1)}, nil, "entry 4 was changed"},
		"dropped":           {[]string{without(4)}, nil, "entries 4 to 4 are missing"},
		"repeated":          {[]string{strings.Replace(whole, lines[4], lines[4]+lines[4], 1)}, nil, "entry 4 is repeated"},
		"reordered":         {[]string{strings.Join(swapped, "")}, nil, "entry 5 is out of order: entry 4 comes after it"},
		"cut at the end":    {[]string{strings.Join(lines[:len(lines)-1], "")}, nil, "entries 10 to 10 are missing at the end"},
		"cut at the start":  {[]string{without(1)}, nil, "entries 1 to 1 are missing"},
		"half a line":       {[]string{whole[:len(whole)-20]}, nil, "is not a line of JSON"},
		"no header":         {[]string{without(0)}, nil, "the export's header is missing"},
		"page dropped":      {slices.Delete(slices.Clone(pages), 1, 2), nil, "a page is missing, repeated or out of order"},
		"last page dropped": {pages[:len(pages)-1], nil, "missing at the end"},
		"first page":        {pages[1:], nil, "first page is missing"},
		"re-signed":         {[]string{whole}, []string{"-key", other}, "is signed with another key"},
		"no checkpoint":     {[]string{headless}, nil, "no checkpoint covers any of these entries"},
		"payload removed":   {[]string{removePayload(whole, 5)}, nil, "the payload of entry 5 (project.update) was removed"},
		"other checkpoint":  {[]string{whole}, []string{"-checkpoint", e.file(strings.Replace(e.checkpointLine(), `"seq":10`, `"seq":9`, 1))}, "invalid signature"},
	} {
		flags := append([]string{"-checkpoint", checkpoints}, c.flags...)
		if name == "no checkpoint" {
			flags = nil
		}
		if len(c.flags) == 0 || c.flags[0] != "-key" {
			flags = append(flags, "-key", key)
		}
		if code, output := e.verified(c.pages, flags...); code != verify.Broken || !strings.Contains(output, c.want) {
			t.Errorf("%s: %d %s, want %q", name, code, output, c.want)
		}
	}
	if code, output := e.verified([]string{whole}, "-key", key, "-checkpoint", checkpoints); code != verify.Valid || !strings.Contains(output, "covers them all") {
		t.Errorf("unchanged: %d %s", code, output)
	}
	if code, _ := e.verified([]string{headless}, "-unsigned"); code != verify.Valid {
		t.Error("an unsigned export is refused although it is allowed")
	}
}

func (e *evidence) otherKey() string {
	e.Helper()
	keys, err := compliance.ParseSigningKeys(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
	if err != nil {
		e.Fatal(err)
	}
	return keys[0].Public().String()
}

// checkpointLine is the newest checkpoint of the Directory's chain.
func (e *evidence) checkpointLine() string {
	e.Helper()
	got := e.must(200, "GET", e.path+"/compliance/checkpoints?object=directory&limit=1", "")
	text, err := json.Marshal(got.fields["checkpoints"].([]any)[0])
	if err != nil {
		e.Fatal(err)
	}
	return string(text)
}

// removePayload replaces the payload of an entry by null.
func removePayload(export string, seq int) string {
	lines := strings.Split(export, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, fmt.Sprintf(`{"record":"event","seq":%d,`, seq)) {
			lines[i] = line[:strings.Index(line, `"payload":`)] + `"payload":null}`
		}
	}
	return strings.Join(lines, "\n")
}

// An attacker who owns the storage can rewrite the chain with all its hashes, but not what an earlier checkpoint says.
func TestRewrittenChainContradictsCheckpoint(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(3)
	e.daily()
	checkpoint := e.file(e.checkpointLine())
	genuine := strings.Join(e.export("type=audit"), "")
	forged := e.forge(genuine)
	if code, output := e.verified([]string{forged}, "-unsigned"); code != verify.Valid {
		t.Fatalf("the forged chain should be consistent: %s", output)
	}
	if code, output := e.verified([]string{forged}, "-key", e.publicKey(), "-checkpoint", checkpoint); code != verify.Broken || !strings.Contains(output, "entry 4 is not the one that was signed") {
		t.Errorf("%d %s", code, output)
	}
}

// A truncated end is found by a later checkpoint, although header and entries agree.
func TestTruncationContradictsCheckpoint(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(3)
	early := strings.Join(e.export("type=audit"), "")
	e.events(3)
	e.daily()
	code, output := e.verified([]string{early}, "-key", e.publicKey(), "-checkpoint", e.file(e.checkpointLine()))
	if code != verify.Broken || !strings.Contains(output, "entries 5 to 7 are missing at the end") {
		t.Errorf("%d %s", code, output)
	}
}

// Pruned entries may be missing at the start only if a checkpoint says so.
func TestPrunedChain(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(5)
	e.use(0)
	e.daily()
	e.now = e.now.AddDate(0, 0, 300)
	e.events(2)
	e.now = e.now.AddDate(0, 0, 150)
	e.daily()
	whole := strings.Join(e.export("type=audit"), "")
	if !strings.Contains(whole, `"first":7,"last":8`) || strings.Contains(whole, `"seq":1,"time"`) {
		t.Fatalf("not pruned: %s", whole)
	}
	key := e.publicKey()
	if code, output := e.verified([]string{whole}, "-key", key); code != verify.Valid {
		t.Error(output)
	}
	if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["ok"] != true || got.fields["complete"] != true {
		t.Error(got.Body)
	}
	code, output := e.verified([]string{strings.Replace(whole, `"reason":"prune"`, `"reason":"daily"`, 1)}, "-key", key)
	if code != verify.Broken {
		t.Errorf("re-labeled: %d %s", code, output)
	}
	code, output = e.verified([]string{strings.Replace(whole, `"checkpoints":[`, `"was":[`, 1)}, "-key", key, "-checkpoint", e.file(e.checkpointLine()))
	if code != verify.Broken || !strings.Contains(output, "entries 1 to 6 are missing at the start") {
		t.Errorf("without the checkpoint of the pruning: %d %s", code, output)
	}
}

// The server's own check names the first broken entry, over several requests.
func TestVerifyEndpoint(t *testing.T) {
	quiet(t)
	for name, c := range map[string]struct {
		damage func(rows map[string][]byte, keys []string)
		seq    string
	}{
		"changed": {func(rows map[string][]byte, keys []string) {
			rows[keys[2]] = []byte(strings.Replace(string(rows[keys[2]]), "Name <1>", "Name <2>", 1))
		}, "3"},
		"dropped": {func(rows map[string][]byte, keys []string) { delete(rows, keys[3]) }, "4"},
		"swapped": {func(rows map[string][]byte, keys []string) {
			rows[keys[1]], rows[keys[2]] = rows[keys[2]], rows[keys[1]]
		}, "2"},
		"cut off": {func(rows map[string][]byte, keys []string) { delete(rows, keys[6]); delete(rows, keys[5]) }, "6"},
		"the head": {func(rows map[string][]byte, keys []string) {
			rows[keys[6]] = []byte(strings.Replace(string(rows[keys[6]]), "Name <5>", "Name <6>", 1))
		}, "7"},
	} {
		e := newEvidence(t)
		e.events(6)
		e.daily()
		if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["ok"] != true || got.fields["complete"] != true || got.fields["entries"] != json.Number("7") || got.fields["checkpoints"] != json.Number("1") {
			t.Fatal(got.Body)
		}
		directory := e.memory.directory()
		keys := slices.Clone(directory.Keys("ch/"+e.id+"/", "ch/"+e.id+"0"))
		slices.Reverse(keys) // oldest first
		c.damage(directory.Rows, keys)
		got := e.must(200, "GET", e.path+"/compliance/verify", "")
		broken, _ := got.fields["broken"].(map[string]any)
		if got.fields["ok"] != false || got.fields["complete"] != false || broken == nil || fmt.Sprint(broken["seq"]) != c.seq || broken["object"] != "directory" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// Long chains are verified in several requests, and exported and verified in the same order.
func TestLongChain(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	const n = verifyEntries + 150
	for range n {
		e.audit(boss, "key.update", e.id, "key_1", nil, nil)
	}
	e.daily()
	first := e.must(200, "GET", e.path+"/compliance/verify", "")
	if first.fields["ok"] != true || first.fields["complete"] != false || first.text("next") == "" {
		t.Fatal(first.Body)
	}
	rest := e.must(200, "GET", e.path+"/compliance/verify?after="+first.text("next"), "")
	if rest.fields["ok"] != true || rest.fields["complete"] != true || rest.fields["entries"] != json.Number("151") {
		t.Error(rest.Body)
	}
	pages := e.export("type=audit&limit=500")
	if code, output := e.verified(pages, "-key", e.publicKey()); code != 0 || len(pages) != 5 {
		t.Errorf("%d pages: %s", len(pages), output)
	}
}

// Concurrent changes make one chain without gaps, and a refused commit none.
func TestConcurrentChangesAreChained(t *testing.T) {
	e := newEvidence(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			e.do("PATCH", e.path, fmt.Sprintf(`{"name":"n%d"}`, i))
			e.do("PATCH", e.path, `{"version":1}`) // outdated: 409
			e.do("POST", e.path+"/keys", `{"name":"k"}`)
		})
	}
	all.Wait()
	text := strings.Join(e.export("type=audit"), "")
	if code, output := e.verified([]string{text}, "-unsigned"); code != 0 || !strings.Contains(output, "Entries 1 to 41") {
		t.Errorf("%d %s", code, output)
	}
}

// An event costs one row and no call: it is part of the commit that it describes.
func TestCostOfAnEvent(t *testing.T) {
	e := newEvidence(t)
	rows, calls := len(e.memory.directory().Rows), e.memory.calls
	e.must(200, "PATCH", e.path, `{"name":"Other"}`)
	audits := 1
	if added := len(e.memory.directory().Rows) - rows - len(e.memory.outbox(t)); added != audits+1 {
		t.Errorf("%d rows were added, want the audit entry and its event", added)
	}
	if n := e.memory.calls - calls; n != 3 {
		t.Errorf("%d calls, want: read, commit, deliver to the ledger", n)
	}
}

// Checkpoints are published before they are stored: into the log, the bucket and the webhook. A chain that has not
// grown gets none.
func TestCheckpointsArePublished(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	kept := &exports{files: map[string]string{}}
	e.handler.(*handler).Exports = kept.put
	e.must(200, "PATCH", e.path, `{"alerts":{"url":"https://alerts.example/hook"}}`)
	e.daily()
	name := "checkpoints/2026-11-22/" + e.id + ".directory." + abi.Fixed(2) + ".daily.json"
	if line := strings.TrimSpace(kept.files[name]); line == "" || line != e.compact(e.checkpointLine()) {
		t.Errorf("exported %q, stored %s", kept.files, e.checkpointLine())
	}
	posts := e.memory.object(abi.ClassLedger, e.id).Posts
	if len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"type":"compliance.checkpoint"`) || !strings.Contains(string(posts[0].Body), `"seq":2`) {
		t.Errorf("%d posts", len(posts))
	}
	e.daily()
	if got := e.must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.fields["checkpoints"].([]any)) != 1 {
		t.Error(got.Body)
	}
	kept.fail = func(string) error { return errOut }
	e.events(1)
	e.now = e.now.AddDate(0, 0, 1)
	if err := e.hourly(); err == nil {
		t.Error("a checkpoint that could not be published is acknowledged")
	}
	if got := e.must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.fields["checkpoints"].([]any)) != 1 {
		t.Error(got.Body)
	}
	kept.fail = nil
	if err := e.hourly(); err != nil {
		t.Error(err)
	}
	if got := e.must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.fields["checkpoints"].([]any)) != 2 {
		t.Error(got.Body)
	}
}

// compact decodes and encodes a checkpoint.
func (e *evidence) compact(text string) string {
	e.Helper()
	var c compliance.Checkpoint
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		e.Fatal(err)
	}
	line, _ := encode(c)
	return string(line)
}

// Without a signing key, or with a malformed one, the chains work and the summary says that nothing is signed.
func TestWithoutSigningKey(t *testing.T) {
	quiet(t)
	for _, signing := range []string{"", "not base64", base64.StdEncoding.EncodeToString(make([]byte, 31))} {
		e := newEvidence(t)
		e.signing = signing
		e.events(1)
		e.daily()
		got := e.must(200, "GET", e.path+"/compliance/summary", "")
		if s := got.fields["signing"].(map[string]any); s["configured"] != false || len(s["publicKeys"].([]any)) != 0 {
			t.Errorf("%q: %s", signing, got.Body)
		}
		if got := e.must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.fields["checkpoints"].([]any)) != 0 {
			t.Error(got.Body)
		}
		if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["complete"] != true {
			t.Error(got.Body)
		}
		text := e.export("type=audit")
		if code, _ := e.verified(text, "-unsigned"); code != verify.Valid {
			t.Error("the hashes do not verify")
		}
	}
}

// After a change of keys, the former one verifies older checkpoints as long as it is configured.
func TestChangeOfSigningKeys(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(1)
	e.daily()
	e.signing = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))) + "," + e.signing
	e.events(1)
	e.daily()
	if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["complete"] != true || got.fields["checkpoints"] != json.Number("2") {
		t.Error(got.Body)
	}
	if code, output := e.verified(e.export("type=audit"), "-key", e.publicKey()); code != 0 {
		t.Error(output)
	}
	e.signing, _, _ = strings.Cut(e.signing, ",")
	if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["ok"] != false {
		t.Error(got.Body)
	}
}

// An export of a period has the entries of that period, and says so.
func TestExportOfAPeriod(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	e.events(10) // 08:08:08 to 08:08:17
	e.daily()
	pages := e.export("type=audit&from=2026-11-21T08:08:10Z&to=2026-11-21T08:08:13Z&limit=2")
	whole := strings.Join(pages, "")
	if !strings.Contains(whole, `"first":4,"last":6`) || strings.Count(whole, `"record":"event"`)-strings.Count(whole, `"record":"event","sample"`) != 3 {
		t.Error(whole)
	}
	key := e.publicKey()
	if code, output := e.verified(pages, "-key", key); code != verify.Broken || !strings.Contains(output, "-partial") {
		t.Errorf("%d %s", code, output)
	}
	if code, output := e.verified(pages, "-unsigned", "-partial"); code != verify.Valid {
		t.Error(output)
	}
	if code, output := e.verified(e.export("type=audit&from=2026-11-21T08:08:10Z"), "-key", key, "-partial"); code != verify.Valid || !strings.Contains(output, "Entries 4 to 11") {
		t.Error(output)
	}
}

// Usage, keys and recent requests are complete or say that they are a sample; closed days are in the chain.
func TestUsageAndAccessExports(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	_, made := e.bench.key(e.path)
	e.use(0)
	e.daily()
	usage := strings.Join(e.export("type=usage"), "")
	for _, part := range []string{
		`"kind":"usage.day"`, `"payload":{"day":"2026-11-21","total":{"requests":3,`, `{"record":"usage","day":"2026-11-21","keyId":"key_b0","model":"m-b","requests":1`,
		`"sample":false,"records":[{"record":"event","sample":false,"chained":true},{"record":"usage","sample":false,"chained":false}]`,
	} {
		if !strings.Contains(usage, part) {
			t.Errorf("no %s in %s", part, usage)
		}
	}
	access := strings.Join(e.export("type=access"), "")
	if !strings.Contains(access, `{"record":"key","id":"`+made.text("id")+`"`) || strings.Contains(access, made.text("value")) ||
		!strings.Contains(access, `"sample":true,"records":[{"record":"key","sample":false,"chained":false}`) {
		t.Error(access)
	}
	e.daily() // the same day is not closed twice
	if again := strings.Join(e.export("type=usage"), ""); strings.Count(again, `"kind":"usage.day"`) != 1 {
		t.Error(again)
	}
}

// A project key needs the permission, and sees its own project only.
func TestComplianceOfProjectKeys(t *testing.T) {
	b := newKeyBench(t)
	_, may := b.newKey(`"kind":"project"`)
	_, mayNot := b.newKey(`"kind":"project","permissions":["violations"]`)
	_, gateway := b.newKey(`"kind":"gateway"`)
	other := b.bench.project()
	for _, endpoint := range []string{"summary", "export", "verify", "checkpoints"} {
		got := b.with(may, "GET", "/api/compliance/"+endpoint, "")
		if got.Code != 200 || strings.Contains(got.Body.String(), other[strings.LastIndex(other, "/")+1:]) {
			t.Errorf("%s: %d %s", endpoint, got.Code, got.Body)
		}
		b.refused(b.with(mayNot, "GET", "/api/compliance/"+endpoint, ""), fault.Forbidden)
		b.refused(b.with(gateway, "GET", "/api/compliance/"+endpoint, ""), fault.Forbidden)
		b.refused(b.with("", "GET", "/api/compliance/"+endpoint, ""), fault.MissingKey)
		b.refused(b.do("GET", "/api/admin/projects/proj_"+someID+"/compliance/"+endpoint, ""), fault.NotFound)
	}
}

func TestBadComplianceQueries(t *testing.T) {
	e := newEvidence(t)
	for query, field := range map[string]string{
		"export?type=all": "type", "export?from=yesterday": "from", "export?to=2026-13-01": "to", "export?from=2026-11-22&to=2026-11-21": "to",
		"export?limit=0": "limit", "export?limit=501": "limit", "export?limit=x": "limit", "export?after=x": "after", "export?after=e30%0A": "after",
		"export?format=cyclonedx": "format", "export?format=csv": "format", "export?tpye=audit": "tpye", "verify?after=ver_2x1": "after", "verify?after=ver_0x0": "after",
		"verify?after=1": "after", "checkpoints?object=meter": "object", "checkpoints?limit=101": "limit", "summary?x=1": "x",
		"export?type=audit&after=" + *(&exportCursor{Section: 1}).encode():                       "after",
		"export?type=audit&after=" + *(&exportCursor{First: 9, Last: 2}).encode():                "after",
		"export?type=audit&after=" + *(&exportCursor{First: 1, Last: 2, After: "zero"}).encode(): "after",
		"export?type=access&after=" + *(&exportCursor{Section: 0, After: "../p/"}).encode():      "after",
	} {
		got := e.do("GET", e.path+"/compliance/"+query, "")
		e.refused(got, fault.InvalidRequest)
		if p := got.problems(); len(p) != 1 || p[0] != field {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
}
