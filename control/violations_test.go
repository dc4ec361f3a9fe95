package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

const testKeyID = "key_0123456789ab"

// violate reports a violation of now to a project's ledger, and returns its ID in the API. Fields that are not set have
// defaults.
func (b *bench) violate(project string, v ledger.Violation) string {
	b.Helper()
	if v.AtMs == 0 {
		v.AtMs = b.memory.nowMs()
	}
	for _, text := range []struct {
		field    *string
		fallback string
	}{{&v.Category, "secret"}, {&v.Severity, "high"}, {&v.Decision, "review"}, {&v.Model, "gpt-4.1"}, {&v.RequestID, "req_1"}, {&v.Path, "messages[0].content"}} {
		if *text.field == "" {
			*text.field = text.fallback
		}
	}
	v.Count = max(v.Count, 1)
	of := b.memory.object(abi.ClassLedger, strings.TrimPrefix(project, "/api/admin/projects/"))
	group := ledger.ViolationGroup{FirstMs: v.AtMs, Violation: v}
	// A meter of its own per violation: each sends its first batch.
	batch := ledger.Absorb{Key: fmt.Sprint("meter", len(of.Rows)), KeyID: testKeyID, Seq: 1, Violations: []ledger.ViolationGroup{group}}
	if _, err := of.Call(b.memory.nowMs(), batch.Encode()); err != nil {
		b.Fatal(err)
	}
	list := ledger.Violations{Limit: 1, FromMs: v.AtMs, ToMs: v.AtMs + 1, Rule: v.Rule}
	reply, err := of.Call(b.memory.nowMs(), list.Encode())
	if err != nil {
		b.Fatal(err)
	}
	page, err := ledger.DecodeViolations(reply)
	if err != nil || len(page.Violations) != 1 {
		b.Fatalf("%v %+v", err, page)
	}
	return violationPrefix + page.Violations[0].ID
}

// rules are the rules of a list of violations, in order.
func (r reply) rules() (rules []string) {
	list, _ := r.fields["violations"].([]any)
	for _, v := range list {
		rules = append(rules, v.(map[string]any)["rule"].(string))
	}
	return rules
}

// violationBench is a keyBench with a project key.
type violationBench struct {
	*keyBench
	value string // of the project key
	id    string // of the project key
}

func newViolationBench(t *testing.T) *violationBench {
	b := &violationBench{keyBench: newKeyBench(t)}
	path, value := b.newKey(`"kind":"project"`)
	b.value, b.id = value, path[strings.LastIndex(path, "/")+1:]
	return b
}

// both sends a request with the project key and as the owner, whose responses must be the same except for the request ID.
func (b *violationBench) both(path string) reply {
	b.Helper()
	byKey, byOwner := b.with(b.value, "GET", "/api"+path, ""), b.do("GET", b.project+path, "")
	delete(byKey.fields, "requestId")
	delete(byOwner.fields, "requestId")
	if byKey.Code != byOwner.Code || fmt.Sprint(byKey.fields) != fmt.Sprint(byOwner.fields) {
		b.Errorf("%s: %d %s\nas the owner %d %s", path, byKey.Code, byKey.Body, byOwner.Code, byOwner.Body)
	}
	return byKey
}

func TestViolation(t *testing.T) {
	b := newViolationBench(t)
	id := b.violate(b.project, ledger.Violation{
		AtMs: 1_795_248_487_006, Rule: "personal.card", Category: "personal", Decision: "block", Output: true, Start: 3, End: 22, Risk: 40,
		Policy: 7, MAC: strings.Repeat("ab", 16), Excerpt: "42", Count: 3, Path: `<"å">`,
	})
	want := `{"id":"` + id + `","state":"open","rule":"personal.card","category":"personal","severity":"high","decision":"block",` +
		`"direction":"output","model":"gpt-4.1","key":"` + testKeyID + `","requestId":"req_1","path":"<\"å\">","start":3,"end":22,` +
		`"riskScore":40,"policyVersion":7,"count":3,"version":1,"fingerprint":"` + strings.Repeat("ab", 16) + `","excerpt":"42",` +
		`"firstAt":"2026-11-21T08:08:07.006Z","lastAt":"2026-11-21T08:08:07.006Z","note":null,"changedAt":null,"changedBy":null}`
	if got := b.both("/violations/" + id); got.Code != 200 || got.Body.String() != want {
		t.Errorf("%d %s\nwant %s", got.Code, got.Body, want)
	}
	if got := b.both("/violations"); got.Body.String() != `{"violations":[`+want+`],"next":null}` {
		t.Error(got.Body)
	}
	for _, unknown := range []string{"vio_0", "vio_" + strings.Repeat("0", 28), id[:len(id)-1]} {
		b.refused(b.with(b.value, "GET", "/api/violations/"+unknown, ""), fault.NotFound)
		b.refused(b.with(b.value, "PATCH", "/api/violations/"+unknown, "{}"), fault.NotFound)
	}
	// Another project's key does not see it.
	b.project = b.bench.project()
	_, other := b.newKey(`"kind":"project"`)
	b.refused(b.with(other, "GET", "/api/violations/"+id, ""), fault.NotFound)
	b.refused(b.with(other, "PATCH", "/api/violations/"+id, `{"state":"resolved"}`), fault.NotFound)
	if got := b.with(other, "GET", "/api/violations", ""); got.Body.String() != `{"violations":[],"next":null}` {
		t.Error(got.Body)
	}
}

func TestViolationFilters(t *testing.T) {
	b := newViolationBench(t)
	at := b.memory.nowMs()
	b.violate(b.project, ledger.Violation{Rule: "a", AtMs: at})
	b.violate(b.project, ledger.Violation{Rule: "b", AtMs: at + 1, Category: "personal", Severity: "low", Decision: "block"})
	resolved := b.violate(b.project, ledger.Violation{Rule: "c", AtMs: at + 1000, Model: "o3", Decision: "redact"})
	b.with(b.value, "PATCH", "/api/violations/"+resolved, `{"state":"resolved"}`)
	b.violate(b.project, ledger.Violation{Rule: "d", AtMs: at + 24*3600e3})
	for query, want := range map[string]string{
		"":                                    "d c b a",
		"?state=open":                         "d b a",
		"?state=resolved":                     "c",
		"?state=acknowledged":                 "",
		"?rule=b":                             "b",
		"?category=personal":                  "b",
		"?severity=high":                      "d c a",
		"?decision=redact":                    "c",
		"?model=o3":                           "c",
		"?key=" + testKeyID:                   "d c b a",
		"?key=key_other":                      "",
		"?rule=b&state=resolved":              "",
		"?rule=b&severity=low&decision=block": "b",
		"?from=" + timestamp(at+1):            "d c b",
		"?to=" + timestamp(at+1):              "a",
		"?from=" + timestamp(at+1) + "&to=" + timestamp(at+1000): "b",
		"?from=2026-11-22":                "d",
		"?to=2026-11-22":                  "c b a",
		"?to=2026-11-22T09:00:00%2B14:00": "c b a",
		"?from=2026-11-25":                "",
	} {
		if got := b.both("/violations" + query); got.Code != 200 || strings.Join(got.rules(), " ") != want {
			t.Errorf("%s: %d %v, want %s", query, got.Code, got.rules(), want)
		}
	}
}

func TestViolationParameters(t *testing.T) {
	b := newViolationBench(t)
	for query, want := range map[string][]string{
		"?page=1":                {"page"},
		"?State=open":            {"State"},
		"?state=Open":            {"state"},
		"?category=x&severity=x": {"category", "severity"},
		"?decision=allow":        {"decision"},
		"?key=sk_live_x":         {"key"},
		"?rule=a%20b&model=" + strings.Repeat("m", 129): {"model", "rule"},
		"?limit=0":                       {"limit"},
		"?limit=101":                     {"limit"},
		"?after=x":                       {"after"},
		"?from=yesterday&to=2026-13-01":  {"from", "to"},
		"?from=2026-11-22&to=2026-11-22": {"to"},
		"?from=1970-01-01":               {"from"},
		"?%zz":                           {"query"},
	} {
		got := b.with(b.value, "GET", "/api/violations"+query, "")
		b.refused(got, fault.InvalidRequest)
		if !slices.Equal(got.problems(), want) {
			t.Errorf("%s: %s, want problems of %v", query, got.Body, want)
		}
	}
}

// All pages together have every violation once, newest first, with and without a filter.
func TestViolationPages(t *testing.T) {
	b := newViolationBench(t)
	const n = 130
	for i := range uint64(n) {
		b.violate(b.project, ledger.Violation{Rule: fmt.Sprintf("rule.%03d", i), AtMs: b.memory.nowMs() + i/3, Decision: []string{"block", "review"}[i%2]})
	}
	for query, want := range map[string]int{"?limit=7": n, "?limit=100": n, "?limit=65": n, "?limit=7&decision=block": n / 2} {
		seen, after := map[string]bool{}, ""
		last := "~"
		for pages := 0; ; pages++ {
			got := b.with(b.value, "GET", "/api/violations"+query+after, "")
			for _, v := range got.fields["violations"].([]any) {
				v := v.(map[string]any)
				if at := v["firstAt"].(string); at > last {
					t.Errorf("%s: %s after %s", query, at, last)
				} else {
					last = at
				}
				seen[v["rule"].(string)] = true
			}
			if got.fields["next"] == nil {
				break
			}
			if pages > n {
				t.Fatalf("%s: the pages never end", query)
			}
			after = "&after=" + got.text("next")
		}
		if len(seen) != want {
			t.Errorf("%s: %d violations, want %d", query, len(seen), want)
		}
	}
}

func TestTriage(t *testing.T) {
	b := newViolationBench(t)
	id := b.violate(b.project, ledger.Violation{Rule: "a"})
	path := "/api/violations/" + id
	b.now = b.now.Add(time.Hour)
	got := b.with(b.value, "PATCH", path, `{"state":"acknowledged","note":"Line 1\n\tline 2 <é>"}`)
	if got.Code != 200 || got.text("state") != "acknowledged" || got.text("note") != "Line 1\n\tline 2 <é>" || got.text("changedBy") != b.id || got.text("changedAt") != "2026-11-21T09:08:07.006Z" || fmt.Sprint(got.fields["version"]) != "2" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if again := b.both("/violations/" + id); again.Body.String() != got.Body.String() {
		t.Errorf("%s\nwant %s", again.Body, got.Body)
	}
	// The same again changes nothing, and an owner's change names the owner.
	for _, body := range []string{"{}", `{"state":"acknowledged"}`, `{"note":"Line 1\n\tline 2 <é>","version":2}`} {
		if same := b.with(b.value, "PATCH", path, body); same.Body.String() != got.Body.String() {
			t.Errorf("%s: %s", body, same.Body)
		}
	}
	got = b.do("PATCH", b.project+"/violations/"+id, `{"note":null,"version":2}`)
	if got.Code != 200 || got.fields["note"] != nil || got.text("changedBy") != "owner" || got.text("state") != "acknowledged" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.refused(b.with(b.value, "PATCH", path, `{"state":"open","version":2}`), fault.Conflict)
	for _, to := range []struct{ state, problem string }{
		{"resolved", ""}, {"acknowledged", "state"}, {"false_positive", "state"}, {"open", ""}, {"false_positive", ""}, {"resolved", "state"},
		{"open", ""}, {"resolved", ""}, {"resolved", ""}, {"open", ""}, {"acknowledged", ""}, {"open", ""},
	} {
		got := b.with(b.value, "PATCH", path, `{"state":"`+to.state+`"}`)
		if problems := strings.Join(got.problems(), " "); problems != to.problem || (got.Code == 200) != (to.problem == "") {
			t.Errorf("to %s: %d %s", to.state, got.Code, got.Body)
		}
	}
	b.audited([]string{
		`violation.triage ` + b.id + ` project key key {"note":null,"state":"open","violation":"` + id + `"} {"note":"Line 1\n\tline 2 <é>","state":"acknowledged","violation":"` + id + `"}`,
		`violation.triage owner owner bearer {"note":"Line 1\n\tline 2 <é>","violation":"` + id + `"} {"note":null,"violation":"` + id + `"}`,
	}, 10)
}

// audited checks the first entries about violations in the audit log, and their number.
func (b *violationBench) audited(want []string, n int) {
	b.Helper()
	entries := b.must(200, "GET", "/api/admin/audit?action=violation&limit=100", "").fields["entries"].([]any)
	if len(entries) != n {
		b.Errorf("%d entries, want %d", len(entries), n)
	}
	var got []string
	for _, e := range slices.Backward(entries) {
		e := e.(map[string]any)
		before, _ := encode(e["before"])
		after, _ := encode(e["after"])
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", e["action"], e["actor"], e["role"], e["via"], before, after))
		if e["project"] != strings.TrimPrefix(b.project, "/api/admin/projects/") {
			b.Errorf("project %s", e["project"])
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			b.Errorf("no entry %s\nin %s", w, strings.Join(got, "\n"))
		}
	}
}

func TestTriageBodies(t *testing.T) {
	b := newViolationBench(t)
	path := "/api/violations/" + b.violate(b.project, ledger.Violation{Rule: "a"})
	for body, want := range map[string][]string{
		`[]`:                   {"body"},
		`{"state":"closed"}`:   {"state"},
		`{"state":null}`:       {"state"},
		`{"state":1,"note":2}`: {"state", "note"},
		`{"note":"` + strings.Repeat("é", 1001) + `"}`: {"note"},
		`{"note":"a\u0000b"}`:                          {"note"},
		`{"note":"a\u202eb"}`:                          {"note"},
		`{"note":"a\r\nb"}`:                            {"note"},
		`{"version":0}`:                                {"version"},
		`{"version":"1"}`:                              {"version"},
		`{"rule":"b","State":"open"}`:                  {"State", "rule"},
	} {
		got := b.with(b.value, "PATCH", path, body)
		b.refused(got, fault.InvalidRequest)
		if problems := got.problems(); !slices.Equal(problems, want) {
			t.Errorf("%s: %s, want problems of %v", body, got.Body, want)
		}
	}
	if got := b.with(b.value, "PATCH", path, `{"note":"`+strings.Repeat("é", 1000)+`"}`); got.Code != 200 {
		t.Error(got.Body)
	}
}

// Each endpoint requires its permission, and operators their role.
func TestViolationPermissions(t *testing.T) {
	b := newViolationBench(t)
	path := "/violations/" + b.violate(b.project, ledger.Violation{Rule: "a"})
	for permission, want := range map[string][3]int{"violations": {200, 200, 403}, "triage": {403, 403, 200}, "compliance": {403, 403, 403}} {
		_, value := b.newKey(`"kind":"project","permissions":["` + permission + `"]`)
		got := [3]int{
			b.with(value, "GET", "/api/violations", "").Code, b.with(value, "GET", "/api"+path, "").Code, b.with(value, "PATCH", "/api"+path, "{}").Code,
		}
		if got != want {
			t.Errorf("%s: %v, want %v", permission, got, want)
		}
	}
	_, gateway := b.newKey(`"kind":"gateway"`)
	b.refused(b.with(gateway, "GET", "/api/violations", ""), fault.Forbidden)
	b.viewer = viewerToken
	viewer := []string{"Authorization", "Bearer " + viewerToken}
	if got := b.do("GET", b.project+path, "", viewer...); got.Code != 200 {
		t.Error(got.Body)
	}
	b.refused(b.do("PATCH", b.project+path, "{}", viewer...), fault.ViewerForbidden)
}

// If the Directory fails after a triage, the outbox delivers the audit entry later, once.
func TestTriageIsAuditedLater(t *testing.T) {
	b := newViolationBench(t)
	quiet(t)
	id := b.violate(b.project, ledger.Violation{Rule: "a"})
	b.memory.failCommits()
	if got := b.with(b.value, "PATCH", "/api/violations/"+id, `{"state":"acknowledged"}`); got.Code != 200 {
		t.Fatal(got.Body)
	}
	b.memory.fail = nil
	b.audited(nil, 0)
	of := b.memory.object(abi.ClassLedger, strings.TrimPrefix(b.project, "/api/admin/projects/"))
	_, deliveries, err := of.Outbox()
	if err != nil || len(deliveries) != 1 || of.AlarmMs == 0 || deliveries[0].Name != directory.Name {
		t.Fatalf("%v, outbox %+v, alarm %d", err, deliveries, of.AlarmMs)
	}
	for range 3 {
		if _, err := b.memory.Call(t.Context(), deliveries[0].Class, deliveries[0].Name, "", deliveries[0].Data); err != nil {
			t.Fatal(err)
		}
	}
	b.audited(nil, 1)
}

func TestViolationsWhenTheLedgerFails(t *testing.T) {
	b := newViolationBench(t)
	quiet(t)
	id := b.violate(b.project, ledger.Violation{Rule: "a"})
	b.memory.failAll(abi.ClassLedger)
	b.refused(b.with(b.value, "GET", "/api/violations", ""), fault.Unavailable)
	b.refused(b.with(b.value, "GET", "/api/violations/"+id, ""), fault.Unavailable)
	b.refused(b.with(b.value, "PATCH", "/api/violations/"+id, `{"state":"resolved"}`), fault.Unavailable)
	b.memory.fail = nil
	b.audited(nil, 0)
}

// Of 50 concurrent changes that expect the same version, one succeeds. Without an expected version, 30 do; each is
// audited, and the ledger's totals stay right.
func TestConcurrentTriage(t *testing.T) {
	b := newViolationBench(t)
	path := "/api/violations/" + b.violate(b.project, ledger.Violation{Rule: "a"})
	patch := func(body string) int {
		r := httptest.NewRequest("PATCH", path, strings.NewReader(body))
		r.Header.Set("X-API-Key", b.value)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 409 || w.Code == 409 && !strings.Contains(w.Body.String(), fault.Conflict.Code) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		return w.Code
	}
	run := func(n int, body func(int) string) (succeeded int) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		for i := range n {
			wait.Go(func() {
				if patch(body(i)) == http.StatusOK {
					mu.Lock()
					succeeded++
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		return succeeded
	}
	if n := run(50, func(i int) string { return fmt.Sprintf(`{"note":"first %d","version":1}`, i) }); n != 1 {
		t.Errorf("%d of 50 changes of version 1 succeeded", n)
	}
	if n := run(30, func(i int) string { // fewer than maxAttempts
		return fmt.Sprintf(`{"note":"then %d","state":"%s"}`, i, []string{"open", "acknowledged"}[i%2])
	}); n != 30 {
		t.Errorf("%d of 30 changes succeeded", n)
	}
	b.audited(nil, 31)
	of := b.memory.object(abi.ClassLedger, strings.TrimPrefix(b.project, "/api/admin/projects/"))
	totals := ledger.Violations{}
	reply, err := of.Call(b.memory.nowMs(), totals.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if page, err := ledger.DecodeViolations(reply); err != nil || page.ByState[0]+page.ByState[1] != 1 || page.Events != 32 {
		t.Errorf("%v %+v", err, page)
	}
}

// The view of a violation is JSON with exactly the documented fields.
func TestViolationFields(t *testing.T) {
	v := ledger.StoredViolation{}
	var fields map[string]any
	if err := json.Unmarshal(v.AppendJSON(nil), &fields); err != nil || len(fields) != 24 {
		t.Errorf("%v, %d fields: %v", err, len(fields), fields)
	}
}
