package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestCacheFlags(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	s.ok("projects", "create", "My app", "--cache", "global", "--cache-ttl", "60")
	for _, step := range []struct{ flags, want string }{
		{"", "global, 60 s"}, {"--cache off", "off"}, {"--cache colo", "colo, 3600 s"}, {"--cache-ttl 0", "off"}, {"--cache-ttl 5", "colo, 5 s"},
	} {
		if step.flags != "" {
			s.ok(append([]string{"projects", "update", "My app"}, strings.Fields(step.flags)...)...)
		}
		if out := s.ok("projects", "show", "My app"); !strings.Contains(out, " "+step.want+"\n") {
			t.Errorf("%s: no %q in\n%s", step.flags, step.want, out)
		}
	}
	s.fails(exitFailed, `cache must be off, colo or global, got "edge"`, "projects", "update", "My app", "--cache", "edge")
	s.fails(exitFailed, "cacheTtlSeconds must be at least 60 with cache global; it is 5", "projects", "update", "My app", "--cache", "global")
}

// A file may have one or both of a project's two cache fields. A second run changes nothing. If the fields contradict
// each other, the file is refused, because it would change the project on each run.
func TestApplyCache(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	for i, c := range []struct{ fields, want string }{
		{"cache: off", "off 0"}, {"cacheTtlSeconds: 600", "colo 600"}, {"cache: global", "global 600"}, {"cacheTtlSeconds: 0", "off 0"},
		{"cache: 'off'\n    cacheTtlSeconds: 0", "off 0"}, {"cache: colo\n    cacheTtlSeconds: 1", "colo 1"},
		{"cache: global\n    cacheTtlSeconds: 60", "global 60"}, {"cache: colo\n    cacheTtlSeconds: 30", "colo 30"}, {"plan: free", "colo 30"},
	} {
		file := s.file(fmt.Sprint(i), "projects:\n  - name: My app\n    "+c.fields+"\n")
		s.ok("apply", "-f", file, "--yes")
		if out := s.ok("apply", "-f", file); !strings.HasPrefix(out, "No changes") {
			t.Errorf("%s: the second run has changes\n%s", c.fields, out)
		}
		var p struct {
			Cache           string
			CacheTTLSeconds int
		}
		if s.decode(&p, "projects", "show", "My app"); fmt.Sprint(p.Cache, " ", p.CacheTTLSeconds) != c.want {
			t.Errorf("%s: %+v", c.fields, p)
		}
	}
	for fields, want := range map[string]string{
		"cache: edge":                         `line 3: projects[0].cache must be off or colo or global, got "edge"`,
		"cache: no":                           `line 3: projects[0].cache must be off or colo or global, got "no"`,
		"cache: true":                         "line 3: projects[0].cache must be a non-empty string, got a boolean",
		"cache: off\n    cacheTtlSeconds: 5":  "line 4: projects[0].cacheTtlSeconds must be 0 if cache is off, and greater otherwise, got 5 with cache off",
		"cache: colo\n    cacheTtlSeconds: 0": "line 4: projects[0].cacheTtlSeconds must be 0 if cache is off, and greater otherwise, got 0 with cache colo",
	} {
		s.fails(exitUsage, want, "apply", "-f", s.file("wrong", "projects:\n  - name: My app\n    "+fields+"\n"), "--yes")
	}
	s.fails(exitFailed, "must be at least 60 with cache global", "apply", "-f", s.file("short", "projects:\n  - name: My app\n    cache: global\n"), "--yes")
}
