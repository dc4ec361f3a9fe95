package compliance_test

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
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// evidence is a bench with a signing key and a project. Its methods fill the project's two chains with events.
type evidence struct {
	*controltest.Bench
	path, id string
	signing  string
}

func newEvidence(t *testing.T) *evidence {
	e := &evidence{Bench: controltest.New(t), signing: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	e.Memory.Reducers = true
	e.Configure(func(c *kernel.Config) { c.SigningKeys = func() string { return e.signing } })
	e.path = e.Project()
	e.id = e.path[strings.LastIndex(e.path, "/")+1:]
	return e
}

// events adds n events to the Directory's chain.
func (e *evidence) events(n int) {
	for i := range n {
		e.Now = e.Now.Add(time.Second)
		e.Must(200, "PATCH", e.path, fmt.Sprintf(`{"name":"Name <%d> é"}`, i))
	}
}

func (e *evidence) use(daysAgo uint64) {
	e.Absorb(e.path, []controltest.Booked{{Day: controltest.Today - daysAgo, Hour: 1, Key: fmt.Sprint("key_of_day", daysAgo), Model: "m-a", Requests: 2, Pico: 100}, {Day: controltest.Today - daysAgo, Hour: 2, Key: fmt.Sprint("key_b", daysAgo), Model: "m-b", Requests: 1, Pico: 1}})
}

func (e *evidence) publicKey() string {
	e.Helper()
	signing := e.Must(200, "GET", e.path+"/compliance/summary", "").Fields["signing"].(map[string]any)
	return signing["publicKeys"].([]any)[0].(map[string]any)["publicKey"].(string)
}

// export downloads all pages of an export by following their Link headers.
func (e *evidence) export(query string) (pages []string) {
	e.Helper()
	for at := e.path + "/compliance/export?" + query; at != ""; {
		got := e.Must(200, "GET", at, "")
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

// verified runs the offline verifier with each page in a separate file.
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

func (e *evidence) file(text string) string {
	name := filepath.Join(e.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
	return name
}

func (e *evidence) daily() {
	e.Helper()
	e.Now = e.Now.AddDate(0, 0, 1)
	if err := e.Hourly(); err != nil {
		e.Fatal(err)
	}
}

// Every export with a chain can be verified offline, whether it has one page or many.
func TestExportsVerifyOffline(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(7)
	e.Bench.Key(e.path)
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
	if code, output := e.verified(e.export("type=audit"), "-key", key); code != 0 || !strings.Contains(output, "Entries 1 to 11") || !strings.Contains(output, "covers them all") {
		t.Errorf("%d %s", code, output)
	}
	if code, output := e.verified(e.export("type=inventory"), "-key", key); code != verify.Misused {
		t.Errorf("inventory: %d %s", code, output)
	}
}

// The payloads of other subjects are left out, but their hashes are not.
func TestExportsHaveTheirPayloadsOnly(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(1)
	e.Bench.Key(e.path)
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

// An export of a period contains the entries of that period and names the period.
func TestExportOfAPeriod(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(10) // 08:08:08 to 08:08:17
	e.daily()
	pages := e.export("type=audit&from=2026-11-21T08:08:10Z&to=2026-11-21T08:08:13Z&limit=2")
	whole := strings.Join(pages, "")
	if !strings.Contains(whole, `"first":4,"last":6`) || strings.Count(whole, `"record":"event"`)-strings.Count(whole, `"record":"event","sample"`) != 3 {
		t.Error(whole)
	}
	key := e.publicKey()
	if code, output := e.verified(pages, "-key", key); code != verify.Broken || !strings.HasPrefix(output, "INCOMPLETE: ") || !strings.Contains(output, "-partial") {
		t.Errorf("%d %s", code, output)
	}
	if code, output := e.verified(pages, "-unsigned", "-partial"); code != verify.Valid {
		t.Error(output)
	}
	if code, output := e.verified(e.export("type=audit&from=2026-11-21T08:08:10Z"), "-key", key, "-partial"); code != verify.Valid || !strings.Contains(output, "Entries 4 to 11") {
		t.Error(output)
	}
}

// Usage, keys and recent requests are either complete or marked as a sample. Closed days are in the chain.
func TestUsageAndAccessExports(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	_, made := e.Bench.Key(e.path)
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
	if !strings.Contains(access, `{"record":"key","id":"`+made.Text("id")+`"`) || strings.Contains(access, made.Text("value")) ||
		!strings.Contains(access, `"sample":true,"records":[{"record":"key","sample":false,"chained":false}`) {
		t.Error(access)
	}
	e.daily() // this must not close the same day again
	if again := strings.Join(e.export("type=usage"), ""); strings.Count(again, `"kind":"usage.day"`) != 1 {
		t.Error(again)
	}
}

// A project key needs the permission and sees only its own project.
func TestComplianceOfProjectKeys(t *testing.T) {
	b := controltest.NewKeyBench(t)
	_, may := b.NewKey(`"kind":"project"`)
	_, mayNot := b.NewKey(`"kind":"project","permissions":["violations"]`)
	_, gateway := b.NewKey(`"kind":"gateway"`)
	other := b.Bench.Project()
	for _, endpoint := range []string{"summary", "export", "verify", "checkpoints"} {
		got := b.With(may, "GET", "/api/compliance/"+endpoint, "")
		if got.Code != 200 || strings.Contains(got.Body.String(), other[strings.LastIndex(other, "/")+1:]) {
			t.Errorf("%s: %d %s", endpoint, got.Code, got.Body)
		}
		b.Refused(b.With(mayNot, "GET", "/api/compliance/"+endpoint, ""), fault.Forbidden)
		b.Refused(b.With(gateway, "GET", "/api/compliance/"+endpoint, ""), fault.Forbidden)
		b.Refused(b.With("", "GET", "/api/compliance/"+endpoint, ""), fault.MissingKey)
		b.Refused(b.Do("GET", "/api/admin/projects/proj_"+controltest.SomeID+"/compliance/"+endpoint, ""), fault.NotFound)
	}
}

func TestBadComplianceQueries(t *testing.T) {
	e := newEvidence(t)
	for query, field := range map[string]string{
		"export?type=all": "type", "export?from=yesterday": "from", "export?to=2026-13-01": "to", "export?from=2026-11-22&to=2026-11-21": "to",
		"export?limit=0": "limit", "export?limit=501": "limit", "export?limit=x": "limit", "export?after=x": "after", "export?after=e30%0A": "after",
		"export?format=cyclonedx": "format", "export?format=csv": "format", "export?tpye=audit": "tpye", "verify?after=ver_2x1": "after", "verify?after=ver_0x0": "after",
		"verify?after=1": "after", "checkpoints?object=meter": "object", "checkpoints?limit=101": "limit", "summary?x=1": "x",
		"export?type=audit&after=" + cursor(`{"s":1,"f":0,"l":0,"a":""}`):       "after",
		"export?type=audit&after=" + cursor(`{"s":0,"f":9,"l":2,"a":""}`):       "after",
		"export?type=audit&after=" + cursor(`{"s":0,"f":1,"l":2,"a":"zero"}`):   "after",
		"export?type=access&after=" + cursor(`{"s":0,"f":0,"l":0,"a":"../p/"}`): "after",
	} {
		got := e.Do("GET", e.path+"/compliance/"+query, "")
		e.Refused(got, fault.InvalidRequest)
		if p := got.Problems(); len(p) != 1 || p[0] != field {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
}

// Concurrent changes produce one chain without gaps, and a refused commit adds nothing to it.
func TestConcurrentChangesAreChained(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			e.Do("PATCH", e.path, fmt.Sprintf(`{"name":"n%d"}`, i))
			e.Do("PATCH", e.path, `{"version":1}`) // outdated: 409
			e.Do("POST", e.path+"/keys", `{"name":"k"}`)
		})
	}
	all.Wait()
	text := strings.Join(e.export("type=audit"), "")
	if code, output := e.verified([]string{text}, "-unsigned"); code != 0 || !strings.Contains(output, "Entries 1 to 41") {
		t.Errorf("%d %s", code, output)
	}
}

// An event costs one row and no extra call, because it is part of the commit that it describes.
func TestCostOfAnEvent(t *testing.T) {
	e := newEvidence(t)
	rows, calls := len(e.Memory.Directory().Rows), e.Memory.Calls
	e.Must(200, "PATCH", e.path, `{"name":"Other"}`)
	audits := 1
	if added := len(e.Memory.Directory().Rows) - rows - len(e.Memory.Outbox(t)); added != audits+1 {
		t.Errorf("%d rows were added, want the audit entry and its event", added)
	}
	if n := e.Memory.Calls - calls; n != 3 {
		t.Errorf("%d calls, want: read, commit, deliver to the ledger", n)
	}
}

func cursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
