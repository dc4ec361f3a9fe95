package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/conformance"
	"github.com/postern-ai/postern/host"
)

const adminToken = "token-of-the-owner-0123456789"

// deployment starts an in-process deployment with the real core and control plane.
func deployment(t *testing.T) *conformance.Local {
	t.Helper()
	local, err := conformance.NewLocal(map[string]string{"POSTERN_ADMIN_TOKEN": adminToken}, host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	return local
}

// shell runs commands against a deployment.
type shell struct {
	t       *testing.T
	environ []string
	in      string
	color   bool
}

func newShell(t *testing.T, url string) *shell {
	t.Helper()
	return &shell{t: t, environ: []string{"POSTERN_BASE_URL=" + url, "POSTERN_ADMIN_TOKEN=" + adminToken}}
}

// run runs a command and returns its output and exit code.
func (s *shell) run(args ...string) (out, err string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{in: strings.NewReader(s.in), out: &stdout, err: &stderr, environ: s.environ, color: s.color, release: func() {}}
	code = p.run(context.Background(), args)
	return stdout.String(), stderr.String(), code
}

// ok runs a command that must succeed.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	out, err, code := s.run(args...)
	if code != exitOK {
		s.t.Fatalf("postern %q: exit code %d\n%s%s", args, code, out, err)
	}
	return out
}

// fails runs a command that must end with a code and a message.
func (s *shell) fails(code int, message string, args ...string) {
	s.t.Helper()
	out, err, got := s.run(args...)
	if got != code || !strings.Contains(err, message) {
		s.t.Errorf("postern %q: exit code %d, want %d with %q\n%s%s", args, got, code, message, out, err)
	}
}

// decode decodes the JSON output of a command that must succeed.
func (s *shell) decode(v any, args ...string) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.ok(append(args, "--json")...)), v); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shell) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}
