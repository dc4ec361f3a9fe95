package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// company is a file with two departments, four teams and ten projects. The teams come before their departments.
func company() string {
	b := strings.Builder{}
	b.WriteString("groups:\n  - {id: root, budget: 5000, budgetPeriod: month}\n")
	for i, team := range []string{"Vision", "Platform", "Europe", "Platform"} {
		fmt.Fprintf(&b, "  - {name: %s, parent: %s, budget: %d.50, budgetPeriod: week}\n", team, []string{"Research", "Sales"}[i/2], 10*(i+1))
	}
	b.WriteString("  - {name: Research, budget: 400}\n  - {name: Sales, enforce: soft}\nprojects:\n")
	for i := range 10 {
		group := []string{"Vision", "Research/Platform", "Sales/Europe", "Sales/Platform", "Sales"}[i%5]
		fmt.Fprintf(&b, "  - {name: Project %d, group: %s}\n", i, group)
	}
	return b.String()
}

// actions returns the plan's lines without fields.
func actions(out string) (all []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "~ ") || strings.HasPrefix(line, "- ") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func wantActions(t *testing.T, out string, want ...string) {
	t.Helper()
	if got := actions(out); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// noChanges checks that a second run changes nothing.
func (s *shell) noChanges(file string, flags ...string) {
	s.t.Helper()
	if out := s.ok(append([]string{"apply", "-f", file}, flags...)...); !strings.HasPrefix(out, "No changes") {
		s.t.Errorf("the second run has changes\n%s", out)
	}
}

func TestApplyGroups(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	file := s.file("company.yaml", company())
	out := s.ok("apply", "-f", file, "--yes")
	wantActions(t, strings.Join(actions(out)[:7], "\n"),
		`~ update group "root"`, `+ create group "Research"`, `+ create group "Sales"`, `+ create group "Research/Vision"`, `+ create group "Research/Platform"`,
		`+ create group "Sales/Europe"`, `+ create group "Sales/Platform"`)
	if n := len(actions(out)); n != 17 || !strings.Contains(out, `group: "Sales/Europe"`) || !strings.Contains(out, `parent: "Sales"`) {
		t.Errorf("%d changes\n%s", n, out)
	}
	s.noChanges(file)
	var project struct{ Group string }
	var team struct{ ID, Name string }
	s.decode(&project, "projects", "show", "Project 3")
	if s.decode(&team, "groups", "show", "Sales/Platform"); project.Group != team.ID {
		t.Errorf("the project is in %s, want %s", project.Group, team.ID)
	}
	changed := strings.NewReplacer("budget: 40.50", "budget: 45", "enforce: soft", "enforce: hard, budget: 90", "Project 3, group: Sales/Platform", "Project 3, group: null",
		"Project 0, group: Vision", "Project 0, group: "+team.ID).Replace(company())
	out = s.ok("apply", "-f", s.file("changed.yaml", changed), "--yes")
	wantActions(t, out, `~ update group "Sales"`, `~ update group "Sales/Platform"`, `~ update project "Project 0"`, `~ update project "Project 3"`)
	for _, want := range []string{`group: "Research/Vision" → "Sales/Platform"`, `group: "Sales/Platform" → null`, "budget: 40.5 → 45", "budget: null → 90"} {
		if !strings.Contains(out, want) {
			t.Errorf("the difference lacks %s\n%s", want, out)
		}
	}
	s.noChanges(s.file("changed.yaml", changed))
	renamed := fmt.Sprintf("groups: [{id: %s, name: Core}]\nprojects: [{name: Project 3, group: Core}]", team.ID)
	wantActions(t, s.ok("apply", "-f", s.file("renamed.yaml", renamed), "--yes"), `~ update group "Sales/Core"`, `~ update project "Project 3"`)
	taken := s.file("taken.yaml", fmt.Sprintf("groups: [{id: %s, name: Europe}]\nprojects: []", team.ID))
	for _, flag := range []string{"--dry-run", "--yes"} {
		s.fails(exitFailed, "line 1: group "+team.ID+` cannot be renamed, because there is another group "Europe"`, "apply", "-f", taken, flag)
	}
}

// Only --prune deletes groups. It keeps groups that are in the file or will not be empty.
func TestPruneGroups(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("apply", "-f", s.file("company.yaml", company()), "--yes")
	smaller := company()
	for _, gone := range []string{"Europe", "Platform", "Sales"} {
		lines := strings.SplitAfter(smaller, "\n")
		for i, line := range lines {
			if strings.Contains(line, "- {name: "+gone) {
				lines[i] = ""
			}
		}
		smaller = strings.Join(lines, "")
	}
	smaller = strings.NewReplacer("Sales/Europe", "Research", "Sales/Platform", "Research", "group: Sales}", "group: null}").Replace(smaller)
	file := s.file("smaller.yaml", smaller)
	s.ok("apply", "-f", file, "--yes")
	s.noChanges(file)
	s.fails(exitUsage, "deleted groups: 3", "apply", "-f", file, "--prune")
	out := s.ok("apply", "-f", file, "--prune", "--yes")
	got := actions(out)
	if len(got) != 3 || got[2] != `- delete group "Sales"` {
		t.Errorf("the changes are %q", got)
	}
	s.noChanges(file, "--prune")
	if list := s.ok("groups", "list"); !strings.Contains(list, "Platform") || strings.Contains(list, "Sales") {
		t.Errorf("the groups are\n%s", list) // Research/Platform still has projects
	}
	s.noChanges(s.file("none.yaml", "projects: []\ngroups: []")) // without --prune
}

func TestApplyRefusesBadTrees(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("groups", "create", "Old")
	s.ok("groups", "create", "Team", "--parent", "Old")
	for groups, want := range map[string]string{
		"[{name: A, parent: B}, {name: B, parent: A}]":            `line 1: the group "A" is its own parent`,
		"[{name: A, parent: A}]":                                  "its own parent",
		"[{name: A, parent: None}]":                               `the parent "None" of group "A" is neither in the file nor in the deployment`,
		"[{name: A, parent: grp_1}]":                              `the parent "grp_1" of group "A" is neither`,
		"[{name: A}, {name: B, parent: A}, {name: C, parent: B}]": "groups have at most 2 levels",
		"[{name: A, parent: Team}]":                               "groups have at most 2 levels",
		"[{name: A, parent: Old/Team}]":                           "groups have at most 2 levels",
		"[{name: A}, {name: A}]":                                  `the group "A" is there twice`,
		"[{name: A, parent: Old}, {name: A, parent: Old}]":        `the group "Old/A" is there twice`,
		"[{id: root}, {id: root}]":                                `the group "root" is there twice`,
		"[{id: grp_1}]":                                           "there is no group grp_1",
		"[{id: proj_1}]":                                          "must be root or start with grp_",
		"[{parent: Old}]":                                         "must have a name or an id",
		"[{id: root, parent: Old}]":                               "has no parent",
		"[{name: A, budgets: 5}]":                                 `did you mean "budget"`,
		"[{name: A, limits: {requestsPerSecond: 5}}]":             "unknown field",
		"{name: A}": "groups must be a list",
		"[{name: A}]\nprojects: [{name: P, group: B}]":                                  `project "P": there is no group "B"`,
		"[{name: A}]\nprojects: [{name: P, group: root}]":                               "there is no group root",
		"[{name: A}, {name: Team, parent: A}]\nprojects: [{name: P, group: Team}]":      "use the path or the ID: Old/Team, A/Team",
		"[{name: A}, {name: B, parent: C}, {name: C, parent: D}, {name: D, parent: B}]": "its own parent",
	} {
		text := "groups: " + groups
		if !strings.Contains(text, "projects:") {
			text += "\nprojects: [{name: P}]"
		}
		_, message, code := s.run("apply", "-f", s.file("bad.yaml", text), "--yes")
		if code == exitOK || !strings.Contains(message, want) {
			t.Errorf("%s: exit code %d, %s, want %q", groups, code, message, want)
		}
	}
	if out := s.ok("groups", "list") + s.ok("projects", "list"); strings.Count(out, "grp_") != 2 || strings.Contains(out, "proj_") {
		t.Errorf("something was changed\n%s", out)
	}
}

// After a failure in the middle, the next run completes the tree. If someone else changes a group after the difference
// was computed, the change is not overwritten.
func TestApplyGroupsAfterFailures(t *testing.T) {
	for _, n := range []int64{1, 2, 4, 7, 8, 17} {
		for _, made := range []bool{false, true} {
			local := deployment(t)
			broken := relay(t, local.URL, func(i int64, _ *http.Request) (bool, bool) { return i == n && !made, i == n && made })
			s := newShell(t, broken.URL)
			file := s.file("company.yaml", company())
			s.fails(exitFailed, "run the command again", "apply", "-f", file, "--yes")
			again := newShell(t, local.URL)
			again.ok("apply", "-f", file, "--yes")
			again.noChanges(file)
			if out := again.ok("groups", "list"); strings.Count(out, "grp_") != 6 {
				t.Errorf("change %d, made %t:\n%s", n, made, out)
			}
		}
	}
	local := deployment(t)
	direct := newShell(t, local.URL)
	direct.ok("groups", "create", "A")
	between := relay(t, local.URL, func(n int64, r *http.Request) (bool, bool) {
		if r.Method == http.MethodPatch && n == 1 {
			direct.ok("groups", "update", "A", "--enforce", "soft")
		}
		return false, false
	})
	s := newShell(t, between.URL)
	file := s.file("a.yaml", "projects: []\ngroups: [{name: A, budget: 5}]")
	s.fails(exitFailed, "Run the command again", "apply", "-f", file, "--yes")
	s.ok("apply", "-f", file, "--yes", "--keys-out", filepath.Join(t.TempDir(), "keys"))
	s.noChanges(file)
}

// allSettings is a file with all settings of groups, and with budgets of a project and of a key.
const allSettings = `
groups:
  - {id: root, budget: 5000, hideNames: true}
  - name: Research
    budget: 40.50
    budgetPeriod: day
    limits: {requestsPerPeriod: 1000}
    models: [balanced, gpt-4.1]
    alerts: {url: https://hooks.example.com/research}
    enforce: soft
  - {name: Vision, parent: Research, limits: {tokensPerPeriod: 90000}, models: []}
  - {name: Old, status: archived}
projects:
  - name: My app
    group: Vision
    budget: 5
    limits: {requestsPerPeriod: 100, tokensPerPeriod: null}
    enforce: soft
    keys:
      - {name: Backend, budget: 1.5, budgetPeriod: week, limits: {requestsPerDay: 5, tokensPerPeriod: 700}, enforce: soft}
`

func TestApplyAllSettingsOfGroups(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	file, keys := s.file("settings.yaml", allSettings), filepath.Join(t.TempDir(), "keys.jsonl")
	out := s.ok("apply", "-f", file, "--yes", "--keys-out", keys)
	if made := actions(out); made[len(made)-1] != `- archive group "Old"` || !strings.Contains(contentOf(t, keys), `"group":"Research"`) {
		t.Errorf("the last change is not the archived group, or there is no secret of the alerts\n%s", out)
	}
	s.noChanges(file)
	changed := strings.NewReplacer("requestsPerPeriod: 1000", "tokensPerPeriod: 1", "/research", "/other", "enforce: soft", "enforce: hard", "models: []", "models: [gpt-4.1]",
		"status: archived", "status: active", "budget: 1.5", "budget: null", "hideNames: true", "hideNames: false").Replace(allSettings)
	out = s.ok("apply", "-f", s.file("changed.yaml", changed), "--yes", "--keys-out", keys)
	for _, want := range []string{
		`limits: {"requestsPerPeriod":1000,"tokensPerPeriod":null} → {"requestsPerPeriod":null,"tokensPerPeriod":1}`, `enforce: "soft" → "hard"`, `~ restore group "Old"`,
		`models: [] → ["gpt-4.1"]`, "budget: 1.5 → null", "hideNames: true → false", `alerts: {"url":"https://hooks.example.com/research"} → {"url":"https://hooks.example.com/other"}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the difference lacks %s\n%s", want, out)
		}
	}
	if n := strings.Count(out, `enforce: "soft" → "hard"`); n != 3 {
		t.Errorf("enforce changes %d times, want once for the group, the project and the key\n%s", n, out)
	}
	s.noChanges(s.file("changed.yaml", changed))
}
