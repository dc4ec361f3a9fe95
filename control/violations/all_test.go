package violations_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	allPath  = "/api/admin/violations"
	maxCalls = 36
)

// allBench is a bench with many projects, in the order in which they are searched.
type allBench struct {
	*controltest.Bench
	projects []string // IDs
}

func newAllBench(t *testing.T, projects int) *allBench {
	b := &allBench{Bench: controltest.New(t)}
	b.Memory.Reducers = true
	for range projects {
		b.projects = append(b.projects, strings.TrimPrefix(b.Project(), "/api/admin/projects/"))
	}
	slices.Sort(b.projects) // the order of projects that were created in the same millisecond is random
	return b
}

func (b *allBench) violate(project int, v ledger.Violation) string {
	b.Helper()
	return b.Violate(b.projects[project], v)
}

func (b *allBench) remove(project int) {
	d := b.Document(doc.ProjectKey(b.projects[project]))
	b.Commit(directory.Write{Key: d.Key, Version: d.Version})
}

type found struct {
	pages, searched int
	rules           []string // of each page, in order
	projects        []string // the index of each rule's project
	more            []string
}

// all reads all pages of a list. It calls the function "after" once for each page that it has read. Each page must
// make a limited number of calls and be sorted newest first.
func (b *allBench) all(query string, after func(page int)) (f found) {
	b.Helper()
	for cursor := ""; ; {
		before := b.Memory.Calls
		got := b.Must(200, "GET", allPath+query+cursor, "")
		if calls := b.Memory.Calls - before; calls > maxCalls {
			b.Errorf("%s: %d calls", query, calls)
		}
		last := "~"
		for _, v := range got.Fields["violations"].([]any) {
			v := v.(map[string]any)
			if at := v["firstAt"].(string); at > last {
				b.Errorf("%s: %s after %s", query, at, last)
			} else {
				last = at
			}
			f.rules = append(f.rules, v["rule"].(string))
			f.projects = append(f.projects, fmt.Sprint(slices.Index(b.projects, v["project"].(map[string]any)["id"].(string))))
		}
		for _, id := range got.Fields["more"].([]any) {
			f.more = append(f.more, fmt.Sprint(slices.Index(b.projects, id.(string))))
		}
		f.pages++
		if _, err := fmt.Sscan(fmt.Sprint(got.Fields["searched"]), &f.searched); err != nil {
			b.Fatal(err)
		}
		if got.Fields["next"] == nil {
			return f
		}
		if f.pages > 30 {
			b.Fatalf("%s: the pages never end", query)
		}
		if after != nil {
			after(f.pages)
		}
		cursor = "&after=" + got.Text("next")
	}
}

func TestViolationsOfAllProjects(t *testing.T) {
	b := newAllBench(t, 3)
	now := b.Memory.NowMs()
	if got := b.Must(200, "GET", allPath, ""); got.Body.String() != `{"from":"2026-11-21T00:00:00.000Z","violations":[],"more":[],"searched":3,"next":null}` {
		t.Error(got.Body)
	}
	b.violate(0, ledger.Violation{Rule: "a", AtMs: now})
	id := b.violate(2, ledger.Violation{Rule: "b", AtMs: now + 1, Path: `<"å">`})
	b.violate(0, ledger.Violation{Rule: "c", AtMs: now + 2, Decision: "block", Severity: "critical", Category: "injection", Model: "o3"})
	b.violate(1, ledger.Violation{Rule: "yesterday", AtMs: now - 24*3600e3})
	b.Must(200, "PATCH", "/api/admin/projects/"+b.projects[2]+"/violations/"+id, `{"state":"resolved"}`)
	one := b.Must(200, "GET", "/api/admin/projects/"+b.projects[2]+"/violations/"+id, "").Body.String()
	want := one[:len(one)-1] + `,"project":{"id":"` + b.projects[2] + `","name":"` + b.Stored(b.projects[2]).Name + `"}}`
	if got := b.Must(200, "GET", allPath+"?rule=b", ""); got.Body.String() != `{"from":"2026-11-21T00:00:00.000Z","violations":[`+want+`],"more":[],"searched":3,"next":null}` {
		t.Errorf("%s\nwant %s", got.Body, want)
	}
	b.Must(200, "POST", "/api/admin/projects/"+b.projects[0]+"/archive", "")
	for query, want := range map[string]string{
		"?":                      "c0 b2 a0", // one of the projects is archived
		"?from=2026-11-20":       "c0 b2 a0 yesterday1",
		"?to=2026-11-22":         "c0 b2 a0",
		"?state=open":            "c0 a0",
		"?state=resolved":        "b2",
		"?severity=critical":     "c0",
		"?category=secret":       "b2 a0",
		"?decision=block":        "c0",
		"?model=o3":              "c0",
		"?rule=a&state=resolved": "",
		"?from=" + kernel.Timestamp(now+1) + "&to=" + kernel.Timestamp(now+2): "b2",
		"?from=2026-11-20&to=2026-11-21":                                      "yesterday1",
		"?limit=1":                                                            "c0 b2",
	} {
		var got []string
		f := b.all(query, nil)
		for i, rule := range f.rules {
			got = append(got, rule+f.projects[i])
		}
		if strings.Join(got, " ") != want || f.searched != 3 {
			t.Errorf("%s: %v in %d projects, want %s", query, got, f.searched, want)
		}
		if cut := query == "?limit=1"; cut != (strings.Join(f.more, " ") == "0") || !cut && f.more != nil {
			t.Errorf("%s: more in %v", query, f.more)
		}
	}
}

// Many projects take several pages. Together, the pages have each violation exactly once. A project that is removed
// between two pages is skipped, even if the cursor names it.
func TestViolationsOfManyProjects(t *testing.T) {
	const projects = 80
	b := newAllBench(t, projects)
	for i := range projects {
		b.violate(i, ledger.Violation{Rule: fmt.Sprintf("rule.%02d", i), Decision: []string{"block", "review"}[i%2], AtMs: b.Memory.NowMs() + uint64(i*7%projects)})
	}
	for query, want := range map[string]int{"?": projects, "?decision=block": projects / 2} {
		f := b.all(query, nil)
		slices.Sort(f.rules)
		if rules := slices.Compact(f.rules); len(rules) != want || len(f.projects) != want || f.searched != projects || f.pages < 2 || f.more != nil {
			t.Errorf("%s: %d rules of %d violations on %d pages, %d projects searched, more in %v", query, len(rules), len(f.projects), f.pages, f.searched, f.more)
		}
	}
	gone := map[int]bool{}
	f := b.all("?", func(page int) {
		if page > 1 {
			return
		}
		for _, i := range []int{0, 32, 33, projects - 1} { // the first page searches 33 projects
			b.remove(i)
			gone[i] = true
		}
	})
	if slices.Contains(f.projects, "33") || slices.Contains(f.projects, "79") || !slices.Contains(f.projects, "34") || len(f.projects) != projects-2 || f.searched != projects-2 {
		t.Errorf("%d projects searched: %v", f.searched, f.projects)
	}
}

// A page with many violations ends early. It has the newest violations of each project, and "more" names the projects
// with further violations.
func TestManyViolationsOfManyProjects(t *testing.T) {
	b := newAllBench(t, 9)
	for project, n := range []int{100, 101, 0, 120, 100, 100, 100, 100, 100} {
		for i := range n {
			b.violate(project, ledger.Violation{Rule: fmt.Sprintf("rule.%03d", i), AtMs: b.Memory.NowMs() + uint64(i)})
		}
	}
	f := b.all("?limit=100", nil)
	if len(f.rules) != 800 || f.pages != 2 || f.searched != 9 || strings.Join(f.more, " ") != "1 3" {
		t.Errorf("%d violations on %d pages, %d projects, more in %v", len(f.rules), f.pages, f.searched, f.more)
	}
	if !slices.Contains(f.rules, "rule.119") {
		t.Error("the newest is left out")
	}
}

// If a filter matches hardly anything, a project is read to its end. A page then makes no more calls than usual.
func TestRareViolationsOfAllProjects(t *testing.T) {
	b := newAllBench(t, 40)
	now := b.Memory.NowMs()
	rare := map[int]string{}
	for project := range 3 {
		rare[project] = b.violate(project, ledger.Violation{Rule: "rare", AtMs: now})
		b.crowd(project, ledger.KeepViolations-1, now+1)
	}
	b.violate(39, ledger.Violation{Rule: "rare", AtMs: now})
	f := b.all("?rule=rare", nil)
	slices.Sort(f.projects)
	if strings.Join(f.projects, " ") != "0 1 2 39" || f.searched != 40 || f.more != nil || f.pages < 3 {
		t.Errorf("found in %v, %d projects searched on %d pages, more in %v", f.projects, f.searched, f.pages, f.more)
	}
}

// crowd adds violations of another rule to a project, one per millisecond.
func (b *allBench) crowd(project, n int, fromMs uint64) {
	of := b.Memory.Object(abi.ClassLedger, b.projects[project])
	groups := make([]ledger.ViolationGroup, 0, 100)
	for i := range n {
		at := fromMs + uint64(i)
		groups = append(groups, ledger.ViolationGroup{FirstMs: at, Violation: ledger.Violation{AtMs: at, Rule: "usual", Category: "secret", Severity: "high", Decision: "block", Count: 1}})
		if len(groups) < cap(groups) && i < n-1 {
			continue
		}
		batch := ledger.Absorb{Key: fmt.Sprint("meter", i), KeyID: controltest.TestKeyID, Seq: 1, Violations: groups}
		if _, err := of.Call(b.Memory.NowMs(), batch.Encode()); err != nil {
			b.Fatal(err)
		}
		groups = groups[:0]
	}
}

// Pages that are requested after midnight cover the same range as the first page.
func TestViolationsOverMidnight(t *testing.T) {
	b := newAllBench(t, 40)
	b.violate(39, ledger.Violation{Rule: "late"})
	f := b.all("?", func(int) { b.Now = b.Now.Add(24 * time.Hour) })
	if len(f.rules) != 1 {
		t.Errorf("%v", f.rules)
	}
	if f := b.all("?", nil); len(f.rules) != 0 {
		t.Errorf("the day after: %v", f.rules)
	}
}

func TestParametersOfAllViolations(t *testing.T) {
	b := newAllBench(t, 1)
	project := b.projects[0]
	for query, want := range map[string][]string{
		"?key=" + controltest.TestKeyID:  {"key"},
		"?project=" + project:            {"project"},
		"?State=open":                    {"State"},
		"?state=Open&severity=x":         {"severity", "state"},
		"?category=x&decision=allow":     {"category", "decision"},
		"?rule=a%20b&model=%0a":          {"model", "rule"},
		"?limit=0":                       {"limit"},
		"?limit=101":                     {"limit"},
		"?from=2026-11-22&to=2026-11-22": {"to"},
		"?to=2026-11-21":                 {"to"}, // before today
		"?from=yesterday":                {"from"},
		"?%zz":                           {"query"},
	} {
		got := b.Do("GET", allPath+query, "")
		b.Refused(got, fault.InvalidRequest)
		if !slices.Equal(got.Problems(), want) {
			t.Errorf("%s: %s, want problems of %v", query, got.Body, want)
		}
	}
	today := fmt.Sprint(b.Memory.NowMs() / 86_400_000 * 86_400_000)
	for _, cursor := range []string{
		"x", "at_1x1", project, project + "/", project + "/at_", project + "/at_1", project + "/at_x" + today, project + "/at_1x", project + "/at_-1x1",
		project + "/at_1x1x1", project + "/at_axb", project + "/at_1x9999999999999999", project + "/at_99999999999999999999x1", project + "/vio_1",
		"/at_1x1", "proj_/at_1x1", "proj_../at_1x1", "proj_a%2fb/at_1x1", project + "/at_1x1/at_1x1", "proj_" + strings.Repeat("a", 100) + "/at_1x1", "%00/at_1x1",
		project + "/at_1x" + fmt.Sprint(b.Memory.NowMs()+1),
	} {
		got := b.Do("GET", allPath+"?after="+cursor, "")
		b.Refused(got, fault.InvalidRequest)
		if !slices.Equal(got.Problems(), []string{"after"}) {
			t.Errorf("%s: %s", cursor, got.Body)
		}
	}
	for _, cursor := range []string{project + "/at_1x" + today, "proj_0/at_7x" + today} {
		if got := b.Do("GET", allPath+"?after="+cursor, ""); got.Code != 200 {
			t.Errorf("%s: %s", cursor, got.Body)
		}
	}
}

func TestWhoSeesAllViolations(t *testing.T) {
	b := newViolationBench(t)
	b.Viewer = controltest.ViewerToken
	b.Violate(b.Project, ledger.Violation{Rule: "a"})
	owner, viewer := b.Do("GET", allPath, ""), b.Do("GET", allPath, "", "Authorization", "Bearer "+controltest.ViewerToken)
	if owner.Code != 200 || viewer.Body.String() != owner.Body.String() || !slices.Equal(rules(viewer), []string{"a"}) {
		t.Errorf("%s\na viewer gets %d %s", owner.Body, viewer.Code, viewer.Body)
	}
	b.Refused(b.Do("GET", allPath, "", "Authorization", ""), fault.MissingAdmin)
	if got := b.With(b.value, "GET", allPath, ""); got.Code != 401 {
		t.Errorf("a project key gets %d %s", got.Code, got.Body)
	}
	controltest.Quiet(t)
	b.Memory.FailAll(abi.ClassLedger)
	b.Refused(b.Do("GET", allPath, ""), fault.Unavailable)
	b.Memory.Fail = nil
	maps.DeleteFunc(b.Memory.Rows, func(key string, _ []byte) bool { return strings.HasPrefix(key, "d/p/") })
	if got := b.Must(200, "GET", allPath, ""); !strings.HasSuffix(got.Body.String(), `"violations":[],"more":[],"searched":0,"next":null}`) {
		t.Errorf("without projects: %s", got.Body)
	}
}
