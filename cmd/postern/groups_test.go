package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// groupsTree creates two departments, two teams with the same name, and a project in one of them.
func groupsTree(t *testing.T) *shell {
	t.Helper()
	s := newShell(t, deployment(t).URL)
	s.ok("groups", "create", "Research", "--budget", "500.5", "--budget-period", "week")
	s.ok("groups", "create", "Sales", "--enforce", "soft", "--budget", "10")
	s.ok("groups", "create", "Platform", "--parent", "Research", "--budget", "20")
	s.ok("groups", "create", "Platform", "--parent", "Sales")
	s.ok("projects", "create", "My app", "--group", "Sales/Platform")
	return s
}

func TestGroups(t *testing.T) {
	s := groupsTree(t)
	var made struct{ ID, Parent, Group string }
	s.decode(&made, "groups", "show", "Sales/Platform")
	team := made.ID
	if s.decode(&made, "projects", "show", "My app"); made.Group != team {
		t.Errorf("the project is in %q, want %q", made.Group, team)
	}
	s.ok("groups", "update", "Research/Platform", "--budget", "none", "--name", "Vision")
	s.ok("groups", "update", "root", "--budget", "1000", "--budget-period", "day", "--tokens-per-period", "5000")
	s.ok("groups", "update", "Sales", "--requests-per-period", "7")
	out := s.ok("groups", "list")
	for _, pattern := range []string{ // the order of groups that were created in the same millisecond is not defined
		`^GROUP +ID +BUDGET +SPENT +REQUESTS +TOKENS +RESETS +ENFORCE +STATUS\nDeployment +root +\$1000/day +\$0 +- +0 of 5000/day +\d{4}-\d\d-\d\dT00:00:00.000Z +hard +active\n`,
		`\n  Research +grp_\w+ +\$500.5/week +\$0 +- +- +\d.* hard +active\n    Vision +grp_\w+ +- +- +- +- +- +hard +active\n`,
		`\n  Sales +grp_\w+ +\$10/month +\$0 +7/month +- +\d.* soft +active\n    Platform +grp_`,
	} {
		if !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("the list does not match %s\n%s", pattern, out)
		}
	}
	var list struct {
		Groups []struct {
			ID    string
			Spent *struct{ Amount json.Number }
		}
	}
	s.decode(&list, "groups", "list")
	spent := 0
	for _, g := range list.Groups {
		if g.Spent != nil {
			spent++
		}
	}
	if len(list.Groups) != 5 || list.Groups[0].ID != "root" || spent != 3 {
		t.Errorf("%+v", list)
	}
	if out := s.ok("groups", "show", "Research"); !strings.Contains(out, "Spent") || !strings.Contains(out, "$500.5/week") {
		t.Error(out)
	}
	s.ok("groups", "update", "Research", "--tokens-per-period", "5000")
	if out := s.ok("groups", "update", "Research", "--requests-per-period", "10", "--models", "balanced", "--alerts", "https://hooks.example.com/x", "--json"); !strings.Contains(out, "whsec_") {
		t.Error(out)
	}
	var limits struct {
		Limits struct{ RequestsPerPeriod, TokensPerPeriod uint64 }
		Models []string
	}
	if s.decode(&limits, "groups", "show", "Research"); limits.Limits.RequestsPerPeriod != 10 || limits.Limits.TokensPerPeriod != 5000 || len(limits.Models) != 1 {
		t.Errorf("%+v", limits)
	}
	s.ok("groups", "archive", "Sales/Platform")
	if out := s.ok("groups", "list"); strings.Count(out, "archived") != 1 {
		t.Error(out)
	}
	s.ok("groups", "restore", "Sales/Platform")
	s.ok("groups", "usage", "Sales", "--by", "project", "--fresh")
	s.ok("projects", "update", "My app", "--group", "none")
	s.fails(exitUsage, "pass --yes", "groups", "delete", "Sales/Platform")
	s.ok("groups", "delete", "Sales/Platform", "--yes")
	s.fails(exitFailed, "409", "groups", "delete", "Research", "--yes")
}

func TestGroupMistakes(t *testing.T) {
	s := groupsTree(t)
	for _, c := range []struct {
		code    int
		message string
		args    string
	}{
		{exitFailed, "not unique", "groups show Platform"}, {exitFailed, `did you mean "Research"`, "groups show Reserch"}, {exitFailed, "404", "groups show grp_none"},
		{exitFailed, `there is no group "x"`, "projects create y --group x"}, {exitFailed, `there is no group "Sales/Vision"`, "groups create z --parent Sales/Vision"},
		{exitFailed, "at most 2 levels", "groups create z --parent Sales/Platform"}, {exitUsage, "--budget must be", "groups create z --budget much"},
		{exitUsage, "--tokens-per-period must be", "groups update Research --tokens-per-period 1e3"}, {exitUsage, "nothing to change", "groups update Research"}, {exitUsage, "needs a group's", "groups delete"},
		{exitUsage, "either --group", "credits 5"}, {exitUsage, "either --group", "credits 5 --group Sales --key x"}, {exitUsage, "the amount must be", "credits five --group Sales"},
		{exitUsage, "needs the amount", "credits"}, {exitFailed, "there is no group", "credits 5 --group Marketing"},
	} {
		s.fails(c.code, c.message, strings.Fields(c.args)...)
	}
	if out := s.ok("groups", "list"); strings.Count(out, "grp_") != 4 {
		t.Errorf("a mistake has made a group\n%s", out)
	}
}

// TestPrepaid tops up a group, a project and a key.
func TestPrepaid(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("groups", "create", "Research", "--budget-period", "total")
	s.ok("projects", "create", "App", "--budget", "1", "--budget-period", "total", "--requests-per-period", "7")
	s.ok("keys", "create", "--name", "Backend", "--budget", "0.5", "--budget-period", "total", "--limit-per-day", "9", "--tokens-per-period", "1000")
	for _, c := range []struct{ to, want string }{
		{"--group Research", "$10 in total"}, {"--group Research --idempotency-key again", "$20 in total"}, {"--group Research --idempotency-key again", "top-up 2, $20 in total"},
		{"--project App", "$10 in total"}, {"--project App --key Backend", "$10 in total"},
	} {
		if out := s.ok(append([]string{"credits", "10"}, strings.Fields(c.to)...)...); !strings.Contains(out, c.want) {
			t.Errorf("%q: %s, want %q", c.to, out, c.want)
		}
	}
	if out := s.ok("groups", "list"); !strings.Contains(out, "$20/total") {
		t.Error(out)
	}
	s.ok("groups", "update", "Research", "--budget-period", "month")
	s.fails(exitFailed, "must be total", "credits", "10", "--group", "Research")
}

// TestEnforce sets whether budgets of a project and a key stop requests.
func TestEnforce(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("projects", "create", "App", "--enforce", "soft")
	s.ok("keys", "create", "--name", "Backend", "--budget", "0.5", "--enforce", "soft")
	for _, command := range []string{"projects show App", "projects show App --json", "keys list --json"} {
		if out := s.ok(strings.Fields(command)...); !strings.Contains(out, "soft") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
	if out := s.ok("projects", "update", "App", "--enforce", "hard", "--json"); !strings.Contains(out, `"hard"`) {
		t.Error(out)
	}
	s.fails(exitFailed, "must be hard or soft", "projects", "update", "App", "--enforce", "weak")
}

// standIn answers calls about one group. It records the calls that change something.
type standIn struct {
	*httptest.Server
	calls   []string
	answers map[string]string
	broken  bool
}

func newStandIn(t *testing.T, answers map[string]string) *standIn {
	t.Helper()
	s := &standIn{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "/usage") {
			s.calls = append(s.calls, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Idempotency-Key")+" "+string(body)))
		}
		answer, known := s.answers[r.URL.Path]
		if r.URL.Query().Get("by") == "key" && r.URL.Query().Get("after") == "" {
			w.Header().Set("X-Postern-Next", "proj_1")
		}
		switch {
		case s.broken && r.Method == http.MethodPost:
			panic(http.ErrAbortHandler)
		case !known:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

const oneGroup = `{"id":"grp_1","name":"Research","parent":"root","budget":null,"budgetPeriod":"total","limits":{"requestsPerPeriod":7,"tokensPerPeriod":null},"enforce":"hard","version":3}`

// TestLimitFlags checks that a change of one limit keeps the other one, and that it fails if they have changed since.
func TestLimitFlags(t *testing.T) {
	api := newStandIn(t, map[string]string{"/api/admin/groups/grp_1": oneGroup})
	newShell(t, api.URL).ok("groups", "update", "grp_1", "--tokens-per-period", "5000", "--alerts", "none")
	want := `PATCH /api/admin/groups/grp_1  {"alerts":null,"limits":{"requestsPerPeriod":7,"tokensPerPeriod":5000},"version":3}`
	if len(api.calls) != 1 || api.calls[0] != want {
		t.Errorf("got %q, want %q", api.calls, want)
	}
}

func TestGroupUsage(t *testing.T) {
	api := newStandIn(t, map[string]string{"/api/admin/groups/grp_1": oneGroup, "/api/admin/groups/grp_1/usage": "project,cost\r\nMy app,0.002\r\n"})
	s := newShell(t, api.URL)
	if out := s.ok("groups", "usage", "grp_1", "--by", "project", "--from", "2026-11-01", "--fresh"); out != "project  cost\nMy app   0.002\n" {
		t.Errorf("%q", out)
	}
	if out := s.ok("groups", "usage", "grp_1", "--format", "csv"); out != "project,cost\r\nMy app,0.002\r\n" {
		t.Errorf("%q", out)
	}
	if out := s.ok("groups", "usage", "grp_1", "--by", "key", "--format", "csv"); out != "project,cost\r\nMy app,0.002\r\nMy app,0.002\r\n" {
		t.Errorf("%q", out)
	}
	api.calls = api.calls[:2]
	want := []string{"GET /api/admin/groups/grp_1/usage?by=project&format=csv&fresh=1&from=2026-11-01", "GET /api/admin/groups/grp_1/usage?format=csv"}
	if strings.Join(api.calls, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", api.calls)
	}
}

// TestCredits checks that a top-up has an idempotency key, which is printed, and that a repeated command can pass it.
func TestCredits(t *testing.T) {
	api := newStandIn(t, map[string]string{
		"/api/admin/groups/grp_1": oneGroup, "/api/admin/groups/grp_1/credits": `{"number":2,"amount":12.5,"total":40,"budget":40}`,
	})
	s := newShell(t, api.URL)
	var made creditView
	if s.decode(&made, "credits", "12.50", "--group", "grp_1", "--note", "Invoice 17"); made.Number != 2 || !strings.HasPrefix(made.IdempotencyKey, "credit-") {
		t.Errorf("%+v", made)
	}
	path := "POST /api/admin/groups/grp_1/credits "
	if want := path + made.IdempotencyKey + ` {"amount":12.50,"note":"Invoice 17"}`; len(api.calls) != 1 || api.calls[0] != want {
		t.Errorf("got %q, want %q", api.calls, want)
	}
	out := s.ok("credits", "5", "--group", "grp_1", "--idempotency-key", "invoice-18")
	if !strings.Contains(out, "top-up 2, $40 in total") || !strings.Contains(out, "invoice-18") || api.calls[1] != path+`invoice-18 {"amount":5}` {
		t.Errorf("%s%q", out, api.calls)
	}
	api.broken, api.calls = true, nil
	_, message, code := s.run("credits", "5", "--group", "grp_1")
	_, key, found := strings.Cut(message, "--idempotency-key ")
	key, _, _ = strings.Cut(key, ",")
	if code != exitFailed || !found || len(api.calls) < 4 {
		t.Errorf("%d %s %d", code, message, len(api.calls))
	}
	for _, call := range api.calls {
		if call != path+key+` {"amount":5}` {
			t.Errorf("a retry is %q, not with the key %q", call, key)
		}
	}
}
