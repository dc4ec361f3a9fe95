package violations_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

func rules(r controltest.Reply) (rules []string) {
	list, _ := r.Fields["violations"].([]any)
	for _, v := range list {
		rules = append(rules, v.(map[string]any)["rule"].(string))
	}
	return rules
}

type violationBench struct {
	*controltest.KeyBench
	value string // of the project key
	id    string // of the project key
}

func newViolationBench(t *testing.T) *violationBench {
	b := &violationBench{KeyBench: controltest.NewKeyBench(t)}
	path, value := b.NewKey(`"kind":"project"`)
	b.value, b.id = value, path[strings.LastIndex(path, "/")+1:]
	return b
}

// both sends a request twice: with the project key and as the owner. The responses must be the same except for the
// request ID.
func (b *violationBench) both(path string) controltest.Reply {
	b.Helper()
	byKey, byOwner := b.With(b.value, "GET", "/api"+path, ""), b.Do("GET", b.Project+path, "")
	delete(byKey.Fields, "requestId")
	delete(byOwner.Fields, "requestId")
	if byKey.Code != byOwner.Code || fmt.Sprint(byKey.Fields) != fmt.Sprint(byOwner.Fields) {
		b.Errorf("%s: %d %s\nas the owner %d %s", path, byKey.Code, byKey.Body, byOwner.Code, byOwner.Body)
	}
	return byKey
}

func TestViolation(t *testing.T) {
	b := newViolationBench(t)
	id := b.Violate(b.Project, ledger.Violation{
		AtMs: 1_795_248_487_006, Rule: "personal.card", Category: "personal", Decision: "block", Output: true, Start: 3, End: 22, Risk: 40,
		Policy: 7, MAC: strings.Repeat("ab", 16), Excerpt: "42", Count: 3, Path: `<"å">`,
	})
	want := `{"id":"` + id + `","state":"open","rule":"personal.card","category":"personal","severity":"high","decision":"block",` +
		`"direction":"output","model":"gpt-4.1","key":"` + controltest.TestKeyID + `","requestId":"req_1","path":"<\"å\">","start":3,"end":22,` +
		`"riskScore":40,"policyVersion":7,"count":3,"version":1,"fingerprint":"` + strings.Repeat("ab", 16) + `","excerpt":"42",` +
		`"firstAt":"2026-11-21T08:08:07.006Z","lastAt":"2026-11-21T08:08:07.006Z","note":null,"changedAt":null,"changedBy":null}`
	if got := b.both("/violations/" + id); got.Code != 200 || got.Body.String() != want {
		t.Errorf("%d %s\nwant %s", got.Code, got.Body, want)
	}
	if got := b.both("/violations"); got.Body.String() != `{"violations":[`+want+`],"next":null}` {
		t.Error(got.Body)
	}
	for _, unknown := range []string{"vio_0", "vio_" + strings.Repeat("0", 28), id[:len(id)-1]} {
		b.Refused(b.With(b.value, "GET", "/api/violations/"+unknown, ""), fault.NotFound)
		b.Refused(b.With(b.value, "PATCH", "/api/violations/"+unknown, "{}"), fault.NotFound)
	}
	for _, malformed := range []string{"vio_!", "x"} {
		got := b.both("/violations/" + malformed)
		if got.Code != 404 || !strings.Contains(got.Body.String(), `{"field":"violation","message":"must be a violation ID, which starts with vio_, got \"`+malformed) {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	// Another project's key does not see the violation.
	b.Project = b.Bench.Project()
	_, other := b.NewKey(`"kind":"project"`)
	b.Refused(b.With(other, "GET", "/api/violations/"+id, ""), fault.NotFound)
	b.Refused(b.With(other, "PATCH", "/api/violations/"+id, `{"state":"resolved"}`), fault.NotFound)
	if got := b.With(other, "GET", "/api/violations", ""); got.Body.String() != `{"violations":[],"next":null}` {
		t.Error(got.Body)
	}
}

func TestViolationFilters(t *testing.T) {
	b := newViolationBench(t)
	at := b.Memory.NowMs()
	b.Violate(b.Project, ledger.Violation{Rule: "a", AtMs: at})
	b.Violate(b.Project, ledger.Violation{Rule: "b", AtMs: at + 1, Category: "personal", Severity: "low", Decision: "block"})
	resolved := b.Violate(b.Project, ledger.Violation{Rule: "c", AtMs: at + 1000, Model: "o3", Decision: "redact"})
	b.With(b.value, "PATCH", "/api/violations/"+resolved, `{"state":"resolved"}`)
	b.Violate(b.Project, ledger.Violation{Rule: "d", AtMs: at + 24*3600e3})
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
		"?key=" + controltest.TestKeyID:       "d c b a",
		"?key=key_other":                      "",
		"?rule=b&state=resolved":              "",
		"?rule=b&severity=low&decision=block": "b",
		"?from=" + kernel.Timestamp(at+1):     "d c b",
		"?to=" + kernel.Timestamp(at+1):       "a",
		"?from=" + kernel.Timestamp(at+1) + "&to=" + kernel.Timestamp(at+1000): "b",
		"?from=2026-11-22":                "d",
		"?to=2026-11-22":                  "c b a",
		"?to=2026-11-22T09:00:00%2B14:00": "c b a",
		"?from=2026-11-25":                "",
	} {
		if got := b.both("/violations" + query); got.Code != 200 || strings.Join(rules(got), " ") != want {
			t.Errorf("%s: %d %v, want %s", query, got.Code, rules(got), want)
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
		got := b.With(b.value, "GET", "/api/violations"+query, "")
		b.Refused(got, fault.InvalidRequest)
		if !slices.Equal(got.Problems(), want) {
			t.Errorf("%s: %s, want problems of %v", query, got.Body, want)
		}
	}
}

// Together, all pages have every violation exactly once, newest first, with and without a filter.
func TestViolationPages(t *testing.T) {
	b := newViolationBench(t)
	const n = 130
	for i := range uint64(n) {
		b.Violate(b.Project, ledger.Violation{Rule: fmt.Sprintf("rule.%03d", i), AtMs: b.Memory.NowMs() + i/3, Decision: []string{"block", "review"}[i%2]})
	}
	for query, want := range map[string]int{"?limit=7": n, "?limit=100": n, "?limit=65": n, "?limit=7&decision=block": n / 2} {
		seen, after := map[string]bool{}, ""
		last := "~"
		for pages := 0; ; pages++ {
			got := b.With(b.value, "GET", "/api/violations"+query+after, "")
			for _, v := range got.Fields["violations"].([]any) {
				v := v.(map[string]any)
				if at := v["firstAt"].(string); at > last {
					t.Errorf("%s: %s after %s", query, at, last)
				} else {
					last = at
				}
				seen[v["rule"].(string)] = true
			}
			if got.Fields["next"] == nil {
				break
			}
			if pages > n {
				t.Fatalf("%s: the pages never end", query)
			}
			after = "&after=" + got.Text("next")
		}
		if len(seen) != want {
			t.Errorf("%s: %d violations, want %d", query, len(seen), want)
		}
	}
}

// Each endpoint requires the right permission from a key and the right role from an operator.
func TestViolationPermissions(t *testing.T) {
	b := newViolationBench(t)
	path := "/violations/" + b.Violate(b.Project, ledger.Violation{Rule: "a"})
	for permission, want := range map[string][3]int{"violations": {200, 200, 403}, "triage": {403, 403, 200}, "compliance": {403, 403, 403}} {
		_, value := b.NewKey(`"kind":"project","permissions":["` + permission + `"]`)
		got := [3]int{
			b.With(value, "GET", "/api/violations", "").Code, b.With(value, "GET", "/api"+path, "").Code, b.With(value, "PATCH", "/api"+path, "{}").Code,
		}
		if got != want {
			t.Errorf("%s: %v, want %v", permission, got, want)
		}
	}
	_, gateway := b.NewKey(`"kind":"gateway"`)
	b.Refused(b.With(gateway, "GET", "/api/violations", ""), fault.Forbidden)
	b.Viewer = controltest.ViewerToken
	viewer := []string{"Authorization", "Bearer " + controltest.ViewerToken}
	if got := b.Do("GET", b.Project+path, "", viewer...); got.Code != 200 {
		t.Error(got.Body)
	}
	b.Refused(b.Do("PATCH", b.Project+path, "{}", viewer...), fault.ViewerForbidden)
}

func TestViolationsWhenTheLedgerFails(t *testing.T) {
	b := newViolationBench(t)
	controltest.Quiet(t)
	id := b.Violate(b.Project, ledger.Violation{Rule: "a"})
	b.Memory.FailAll(abi.ClassLedger)
	b.Refused(b.With(b.value, "GET", "/api/violations", ""), fault.Unavailable)
	b.Refused(b.With(b.value, "GET", "/api/violations/"+id, ""), fault.Unavailable)
	b.Refused(b.With(b.value, "PATCH", "/api/violations/"+id, `{"state":"resolved"}`), fault.Unavailable)
	b.Memory.Fail = nil
	b.audited(nil, 0)
}

// The JSON of a violation has exactly the documented fields.
func TestViolationFields(t *testing.T) {
	v := ledger.StoredViolation{}
	var fields map[string]any
	if err := json.Unmarshal(v.AppendJSON(nil), &fields); err != nil || len(fields) != 24 {
		t.Errorf("%v, %d fields: %v", err, len(fields), fields)
	}
}
