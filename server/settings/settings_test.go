package settings_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/server/settings"
)

var rewrite = flag.Bool("rewrite", false, "write the results in testdata")

// TestGolden loads every case in testdata. A case is a file with sections. "-- env --" has variables, "-- flags --"
// has the values of flags, and "-- want --" has the configuration or the problems. Any other section is a file, such
// as the configuration file postern.yaml.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			before, want, _ := strings.Cut(string(text), "-- want --\n")
			c, err := settings.Load(source(before))
			got := show(&c, err)
			if *rewrite {
				if err := os.WriteFile(name, []byte(before+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if strings.Contains(got, "s3cret") {
				t.Error("the result contains a secret")
			}
		})
	}
}

func source(text string) settings.Source {
	files := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if inner, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(inner, " --\n")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	s := settings.Source{Environ: strings.Split(strings.TrimSpace(files["env"]), "\n"), Flags: map[string]string{}, ReadFile: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}}
	if _, ok := files["postern.yaml"]; ok {
		s.File = "postern.yaml"
	}
	for line := range strings.Lines(files["flags"]) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), "=")
		s.Flags[name] = text
	}
	return s
}

// show prints the problems or, if there are none, the configuration without secrets.
func show(c *server.Config, err error) string {
	if err != nil {
		return "error\n" + err.Error() + "\n"
	}
	text := fmt.Sprintf("data %q database %t durability %s engine %s\nlisten %s ops %s public %q tls %q %q\nproxies %v drain %s after %s connections %d exports %q debug %t\n",
		c.Data, c.Database != "", c.Durability, c.Engine, c.Listen, c.OpsListen, c.PublicURL, c.TLSCert, c.TLSKey,
		c.TrustedProxies, c.Drain, c.DrainDelay, c.MaxConnections, c.Exports, c.Log.Enabled(context.Background(), slog.LevelDebug))
	names := []string{}
	for name, value := range c.Env {
		names = append(names, fmt.Sprintf("env %s %s\n", name, strings.ReplaceAll(value, "s3cret", "(secret)")))
	}
	slices.Sort(names)
	return text + strings.Join(names, "")
}

// TestPublicURL checks that the address has a host that browsers can open, and nothing else.
func TestPublicURL(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a"
	for text, want := range map[string]string{
		"https://ai.example": "https://ai.example", "https://AI.example/": "https://AI.example", "http://127.0.0.1:8787": "http://127.0.0.1:8787",
		"https://[2001:db8::1]": "https://[2001:db8::1]", "https://[::1]:8443/": "https://[::1]:8443", "https://my_gateway": "https://my_gateway",
		"https://xn--bcher-kva.example": "https://xn--bcher-kva.example", "https://" + long: "https://" + long,
		"https://a;b": "", "https://a,b": "", "https://a'b": "", "https://a b": "", "https://a\\b": "", "https://a%3Bb": "", "https://b\u00fccher.example": "",
		"https://" + long + "a": "", "https://a:": "", "https://a:0": "", "https://a:65536": "", "https://a:b": "", "https://:443": "", "https://": "",
		"https://[::1": "", "https://[::1]x": "", "https://[127.0.0.1]": "", "https://[fe80::1%25eth0]": "", "https://::1": "",
		"https://u:p@a": "", "https://a?": "", "https://a#": "", "https://a/b": "", "https://a//": "", "ftp://a": "", "a": "",
	} {
		c, err := settings.Load(settings.Source{Environ: []string{"POSTERN_PUBLIC_URL=" + text}})
		if c.PublicURL != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%.80q: %.80q, %v", text, c.PublicURL, err)
		}
	}
}
