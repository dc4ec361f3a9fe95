package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
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

// The view of a violation is JSON with exactly the documented fields.
func TestViolationFields(t *testing.T) {
	v := ledger.StoredViolation{}
	var fields map[string]any
	if err := json.Unmarshal(v.AppendJSON(nil), &fields); err != nil || len(fields) != 24 {
		t.Errorf("%v, %d fields: %v", err, len(fields), fields)
	}
}
