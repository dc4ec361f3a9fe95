package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func status(t *testing.T, url, value string) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url+"/api/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", value)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func TestKeysAndProjects(t *testing.T) {
	local := deployment(t)
	s := newShell(t, local.URL)
	s.ok("projects", "create", "My app", "--plan", "developer", "--budget", "12.50", "--models", "balanced,gpt-4.1")
	var project struct {
		Budget json.Number
		Models []string
	}
	if s.decode(&project, "projects", "show", "My app"); project.Budget != "12.5" || len(project.Models) != 2 {
		t.Errorf("%+v", project)
	}
	file := filepath.Join(t.TempDir(), "backend.key")
	if out := s.ok("keys", "create", "--name", "Backend", "--limit-per-second", "3", "--expires", "720h", "--out", file); strings.Contains(out, "sk_live_") {
		t.Errorf("the value is printed: %s", out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	value := strings.TrimSpace(string(text))
	for _, step := range []struct {
		verb string
		want int
	}{{"deactivate", 401}, {"activate", 200}, {"deactivate", 401}, {"deactivate", 401}, {"activate", 200}} {
		if s.ok("keys", step.verb, "Backend"); status(t, local.URL, value) != step.want {
			t.Errorf("after %s: not %d", step.verb, step.want)
		}
	}
	var rotated struct{ ID, Value string }
	s.decode(&rotated, "keys", "rotate", "Backend", "--grace", "0s")
	if status(t, local.URL, value) != 401 || status(t, local.URL, rotated.Value) != 200 {
		t.Error("the rotated key is not the one that works")
	}
	s.ok("projects", "archive", "My app")
	if status(t, local.URL, rotated.Value) != 401 {
		t.Error("a key of an archived project works")
	}
	s.ok("projects", "restore", "My app")
	s.fails(exitUsage, "pass --yes", "keys", "delete", "Backend")
	s.ok("keys", "delete", "Backend", "--yes")
	if status(t, local.URL, rotated.Value) != 401 {
		t.Error("a deleted key works")
	}
}

func TestMistakes(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("projects", "create", "My app")
	s.ok("projects", "create", "Twice")
	s.ok("projects", "create", "Twice")
	exists := s.file("exists.key", "")
	for _, c := range []struct {
		code    int
		message string
		args    string
	}{
		{exitUsage, `did you mean "keys"`, "key"}, {exitUsage, `did you mean "create"`, "keys creat"}, {exitUsage, "--wrong", "keys list --wrong"},
		{exitUsage, "needs the project's name", "projects create"}, {exitUsage, "takes no arguments", "version x"}, {exitUsage, "--budget must be", "projects create x --budget lots"},
		{exitUsage, "has 3 active projects", "keys list"}, {exitUsage, "pass the key's --name", "keys create -p Twice"}, {exitUsage, "--expires must be", "keys create --name x --expires soon"},
		{exitUsage, "whole number of seconds", "keys rotate x --grace 1ms"}, {exitUsage, "nothing to change", "projects update x"}, {exitUsage, "name the file with -f", "apply"},
		{exitUsage, "unencrypted", "projects list --url http://gateway.example"}, {exitUsage, "https://host", "projects list --url gateway"},
		{exitUsage, "shell must be", "completion csh"}, {exitUsage, "positive duration", "projects list --timeout 0s"},
		{exitFailed, "not unique", "projects show Twice"}, {exitFailed, `did you mean "Twice"`, "projects show Twicce"}, {exitFailed, "404", "projects show proj_019aa4b0c1d20123456789abcdef0123"},
		{exitFailed, "request req_", "projects create x --plan none"}, {exitFailed, "exists already", "keys create --name x -p proj --out " + exists},
	} {
		args := strings.Fields(c.args)
		if i := strings.Index(c.args, "-p proj "); i >= 0 {
			var list struct{ Projects []struct{ ID string } }
			s.decode(&list, "projects", "list")
			args = strings.Fields(strings.Replace(c.args, "-p proj ", "-p "+list.Projects[0].ID+" ", 1))
		}
		s.fails(c.code, c.message, args...)
	}
}

func TestErrorsAsJSON(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	_, message, code := s.run("projects", "create", "x", "--plan", "none", "--json")
	var shown struct {
		Error, Code, RequestID string
		Status                 int
	}
	if err := json.Unmarshal([]byte(message), &shown); err != nil || code != exitFailed || shown.Status != 400 || shown.RequestID == "" {
		t.Errorf("%d %v %s", code, err, message)
	}
}

// The token comes from a variable, a file, or the files of a deployment on this machine. It never appears in the
// output.
func TestToken(t *testing.T) {
	local := deployment(t)
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "secrets.json"), []byte(`{"adminToken":"`+adminToken+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, environ: []string{"POSTERN_BASE_URL=" + local.URL}}
	s.ok("projects", "list", "--data", data)
	s.environ = append(s.environ, "POSTERN_ADMIN_TOKEN_FILE="+s.file("token", adminToken+"\n"))
	s.ok("projects", "list")
	s.environ = append(s.environ, "POSTERN_ADMIN_TOKEN="+adminToken)
	s.fails(exitUsage, "both set", "projects", "list")
	s.environ = []string{"POSTERN_BASE_URL=" + local.URL, "POSTERN_ADMIN_TOKEN=wrong-" + adminToken}
	out, message, code := s.run("projects", "list")
	if code != exitFailed || !strings.Contains(message, "401") || strings.Contains(out+message, adminToken) {
		t.Errorf("%d %s", code, message)
	}
	s.environ = []string{"POSTERN_BASE_URL=http://192.0.2.1"}
	s.fails(exitFailed, "no admin token", "projects", "list", "--insecure", "--data", data)
}

// TestHelp checks that every command has a description. Every command that does not only have subcommands must also
// have an example.
func TestHelp(t *testing.T) {
	p := &program{release: func() {}}
	commands := p.root().Commands()
	for i := 0; i < len(commands); i++ {
		c := commands[i]
		commands = append(commands, c.Commands()...)
		if c.Name() != "help" && (c.Short == "" || !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath())) {
			t.Errorf("%s lacks a description or an example", c.CommandPath())
		}
	}
	if len(commands) < 25 {
		t.Errorf("only %d commands", len(commands))
	}
}
