package server

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// with returns a copy of a configuration with additional variables.
func with(c Config, variables map[string]string) Config {
	c.Env = maps.Clone(c.Env)
	maps.Copy(c.Env, variables)
	return c
}

func (r *running) adminStatus(token string) int {
	r.t.Helper()
	request, _ := http.NewRequest("GET", r.url+"/api/admin/projects", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestReload: when Reload returns, the new configuration is in force. A stream that began earlier continues.
func TestReload(t *testing.T) {
	p := newProvider(t)
	r := start(t, testConfig(p), nil)
	s := r.openStream()
	old := r.deployment()
	next := with(r.config, map[string]string{"POSTERN_ADMIN_TOKEN": "another-owner-token", "POSTERN_CATALOG": `{"plans":[{"name":"huge","perSecond":0,"perDay":0,"developmentPerSecond":0,"developmentPerDay":0,"concurrent":5,"budget":"5","governor":false}]}`})
	if err := r.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if before, after := r.adminStatus(testToken), r.adminStatus("another-owner-token"); before != 401 || after != 200 {
		t.Errorf("the old token gives %d, the new one %d", before, after)
	}
	p.more <- "second"
	s.until("second")
	close(p.more)
	if rest, err := s.rest(); err != nil || !strings.Contains(rest, "[DONE]") {
		t.Errorf("the stream ended with %v: %q", err, rest)
	}
	r.retired.Wait()
	if r.deployment() == old {
		t.Error("the deployment is the old one")
	}
}

// TestReloadRefused: if a configuration is invalid or requires a restart, nothing changes, and the error names the
// problem.
func TestReloadRefused(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	elsewhere, other := r.config, r.config
	elsewhere.Listen, elsewhere.Database = "127.0.0.1:1", "postgres://user:secret@db/postern"
	other.TLSCert = "missing.pem"
	engine := r.config
	engine.Engine = "interpreter"
	for name, c := range map[string]Config{
		"POSTERN_CATALOG":                  with(r.config, map[string]string{"POSTERN_CATALOG": "{"}),
		"POSTERN_PRIVATE_WEBHOOKS":         with(r.config, map[string]string{"POSTERN_PRIVATE_WEBHOOKS": "yes"}),
		"POSTERN_MASTER_KEYS":              with(r.config, map[string]string{"POSTERN_MASTER_KEYS": "short"}),
		"POSTERN_LISTEN, POSTERN_DATABASE": elsewhere,
		"POSTERN_TLS_CERT":                 other,
		"POSTERN_ENGINE":                   engine,
	} {
		c.Env["POSTERN_ADMIN_TOKEN"] = "another-owner-token"
		err := r.Reload(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: error %v", name, err)
		}
		c.Env["POSTERN_ADMIN_TOKEN"] = testToken
		if status := r.adminStatus(testToken); status != 200 {
			t.Errorf("%s: afterwards, the token gives %d", name, status)
		}
	}
}

// TestReloadSignal: SIGHUP reloads the configuration that load returns, and a failure is logged.
func TestReloadSignal(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	c := r.config
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal), make(chan error, 1)
	next := []Config{with(c, map[string]string{"POSTERN_CATALOG": "{"}), with(c, map[string]string{"POSTERN_ADMIN_TOKEN": "another-owner-token"})}
	load := func() (Config, error) {
		c, next = next[0], next[1:]
		return c, nil
	}
	go func() { ended <- s.RunSignals(context.Background(), signals, load) }()
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	eventually(t, "reloaded", func() bool { return s.deployment().config.Env["POSTERN_ADMIN_TOKEN"] == "another-owner-token" })
	if log := r.log.String(); !strings.Contains(log, "the old one stays in force") || !strings.Contains(log, "POSTERN_CATALOG") {
		t.Errorf("logged %s", log)
	}
	signals <- os.Interrupt
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReloadsUnderLoad: requests succeed while the configuration is reloaded again and again.
func TestReloadsUnderLoad(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			if err := r.Reload(t.Context(), r.config); err != nil {
				t.Error(err)
			}
		}
	}()
	for reloading := true; reloading; {
		select {
		case <-done:
			reloading = false
		default:
		}
		if status := r.adminStatus(testToken); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
}

// TestFirstStart: the first start makes secrets and prints commands that work. Later starts keep the secrets and do
// not print a key.
func TestFirstStart(t *testing.T) {
	c := testConfig(nil)
	delete(c.Env, "POSTERN_ADMIN_TOKEN")
	c.Data = filepath.Join(t.TempDir(), "data")
	out := &buffer{}
	c.Out = out
	token := runOnce(t, c)
	text := out.String()
	for _, want := range []string{"/dashboard", filepath.Join(c.Data, SecretsFile), "/v1/chat/completions", "/api/usage?projectId=proj_"} {
		if !strings.Contains(text, want) {
			t.Errorf("printed without %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, token) {
		t.Error("the admin token is printed")
	}
	info, err := os.Stat(filepath.Join(c.Data, SecretsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secrets: %v, %v", info, err)
	}
	*out = buffer{}
	if again := runOnce(t, c); again != token {
		t.Error("the second start has another token")
	}
	if text := out.String(); strings.Contains(text, "sk_test") || !strings.Contains(text, "/dashboard") {
		t.Errorf("the second start printed:\n%s", text)
	}
}

// runOnce runs a server until it has printed its addresses, and returns the admin token. On the first start, it sends
// the printed request.
func runOnce(t *testing.T, c Config) (token string) {
	t.Helper()
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	out := c.Out.(*buffer)
	eventually(t, "printed", func() bool { return strings.Contains(out.String(), "Admin token") })
	printed := regexp.MustCompile(`curl (\S+) -H 'Authorization: (.+?)' .* -d '(.+)'`)
	if match := printed.FindStringSubmatch(out.String()); match != nil {
		request, _ := http.NewRequest("POST", match[1], strings.NewReader(match[3]))
		request.Header = http.Header{"Authorization": {match[2]}, "Content-Type": {"application/json"}}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Errorf("the printed request gives %v, %v", response, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return s.deployment().config.Env["POSTERN_ADMIN_TOKEN"]
}
