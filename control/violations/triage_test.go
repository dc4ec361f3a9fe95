package violations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

func TestTriage(t *testing.T) {
	b := newViolationBench(t)
	id := b.Violate(b.Project, ledger.Violation{Rule: "a"})
	path := "/api/violations/" + id
	b.Now = b.Now.Add(time.Hour)
	got := b.With(b.value, "PATCH", path, `{"state":"acknowledged","note":"Line 1\n\tline 2 <é>"}`)
	if got.Code != 200 || got.Text("state") != "acknowledged" || got.Text("note") != "Line 1\n\tline 2 <é>" || got.Text("changedBy") != b.id || got.Text("changedAt") != "2026-11-21T09:08:07.006Z" || fmt.Sprint(got.Fields["version"]) != "2" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if again := b.both("/violations/" + id); again.Body.String() != got.Body.String() {
		t.Errorf("%s\nwant %s", again.Body, got.Body)
	}
	// Repeating a change has no effect. A change by an owner names the owner.
	for _, body := range []string{"{}", `{"state":"acknowledged"}`, `{"note":"Line 1\n\tline 2 <é>","version":2}`} {
		if same := b.With(b.value, "PATCH", path, body); same.Body.String() != got.Body.String() {
			t.Errorf("%s: %s", body, same.Body)
		}
	}
	got = b.Do("PATCH", b.Project+"/violations/"+id, `{"note":null,"version":2}`)
	if got.Code != 200 || got.Fields["note"] != nil || got.Text("changedBy") != "owner" || got.Text("state") != "acknowledged" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.Refused(b.With(b.value, "PATCH", path, `{"state":"open","version":2}`), fault.Conflict)
	for _, to := range []struct{ state, problem string }{
		{"resolved", ""}, {"acknowledged", "state"}, {"false_positive", "state"}, {"open", ""}, {"false_positive", ""}, {"resolved", "state"},
		{"open", ""}, {"resolved", ""}, {"resolved", ""}, {"open", ""}, {"acknowledged", ""}, {"open", ""},
	} {
		got := b.With(b.value, "PATCH", path, `{"state":"`+to.state+`"}`)
		if problems := strings.Join(got.Problems(), " "); problems != to.problem || (got.Code == 200) != (to.problem == "") {
			t.Errorf("to %s: %d %s", to.state, got.Code, got.Body)
		}
	}
	b.audited([]string{
		`violation.triage ` + b.id + ` project key key {"note":null,"state":"open","violation":"` + id + `"} {"note":"Line 1\n\tline 2 <é>","state":"acknowledged","violation":"` + id + `"}`,
		`violation.triage owner owner bearer {"note":"Line 1\n\tline 2 <é>","violation":"` + id + `"} {"note":null,"violation":"` + id + `"}`,
	}, 10)
}

// audited checks the number of entries about violations in the audit log, and the first of these entries.
func (b *violationBench) audited(want []string, n int) {
	b.Helper()
	entries := b.Must(200, "GET", "/api/admin/audit?action=violation&limit=100", "").Fields["entries"].([]any)
	if len(entries) != n {
		b.Errorf("%d entries, want %d", len(entries), n)
	}
	var got []string
	for _, e := range slices.Backward(entries) {
		e := e.(map[string]any)
		before, _ := kernel.Encode(e["before"])
		after, _ := kernel.Encode(e["after"])
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", e["action"], e["actor"], e["role"], e["via"], before, after))
		if e["project"] != strings.TrimPrefix(b.Project, "/api/admin/projects/") {
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
	path := "/api/violations/" + b.Violate(b.Project, ledger.Violation{Rule: "a"})
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
		got := b.With(b.value, "PATCH", path, body)
		b.Refused(got, fault.InvalidRequest)
		if problems := got.Problems(); !slices.Equal(problems, want) {
			t.Errorf("%s: %s, want problems of %v", body, got.Body, want)
		}
	}
	if got := b.With(b.value, "PATCH", path, `{"note":"`+strings.Repeat("é", 1000)+`"}`); got.Code != 200 {
		t.Error(got.Body)
	}
}

// If the Directory fails after a triage, the outbox delivers the audit entry later. The entry is written only once.
func TestTriageIsAuditedLater(t *testing.T) {
	b := newViolationBench(t)
	controltest.Quiet(t)
	id := b.Violate(b.Project, ledger.Violation{Rule: "a"})
	b.Memory.FailCommits()
	if got := b.With(b.value, "PATCH", "/api/violations/"+id, `{"state":"acknowledged"}`); got.Code != 200 {
		t.Fatal(got.Body)
	}
	b.Memory.Fail = nil
	b.audited(nil, 0)
	of := b.Memory.Object(abi.ClassLedger, strings.TrimPrefix(b.Project, "/api/admin/projects/"))
	_, deliveries, err := of.Outbox()
	if err != nil || len(deliveries) != 1 || of.AlarmMs == 0 || deliveries[0].Name != directory.Name {
		t.Fatalf("%v, outbox %+v, alarm %d", err, deliveries, of.AlarmMs)
	}
	for range 3 {
		if _, err := b.Memory.Call(t.Context(), deliveries[0].Class, deliveries[0].Name, "", deliveries[0].Data); err != nil {
			t.Fatal(err)
		}
	}
	b.audited(nil, 1)
}

// Of 50 concurrent changes that expect the same version, one succeeds. Of 30 without an expected version, all
// succeed. Each successful change is audited, and the ledger's totals stay correct.
func TestConcurrentTriage(t *testing.T) {
	b := newViolationBench(t)
	path := "/api/violations/" + b.Violate(b.Project, ledger.Violation{Rule: "a"})
	patch := func(body string) int {
		r := httptest.NewRequest("PATCH", path, strings.NewReader(body))
		r.Header.Set("X-API-Key", b.value)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		b.Service.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 409 || w.Code == 409 && !strings.Contains(w.Body.String(), fault.Conflict.Code()) {
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
	if n := run(30, func(i int) string { // fewer than kernel.MaxAttempts
		return fmt.Sprintf(`{"note":"then %d","state":"%s"}`, i, []string{"open", "acknowledged"}[i%2])
	}); n != 30 {
		t.Errorf("%d of 30 changes succeeded", n)
	}
	b.audited(nil, 31)
	of := b.Memory.Object(abi.ClassLedger, strings.TrimPrefix(b.Project, "/api/admin/projects/"))
	totals := ledger.Violations{}
	reply, err := of.Call(b.Memory.NowMs(), totals.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if page, err := ledger.DecodeViolations(reply); err != nil || page.ByState[0]+page.ByState[1] != 1 || page.Events != 32 {
		t.Errorf("%v %+v", err, page)
	}
}
